"""What crashes left behind is found and repaired; cancelling."""
