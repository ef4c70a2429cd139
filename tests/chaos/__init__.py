"""Real processes that die at the worst moment."""
