"""What requests and answers have in common."""
