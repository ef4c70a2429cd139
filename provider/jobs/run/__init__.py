"""A job's handler is run, watched and stopped, and its end becomes a move."""
