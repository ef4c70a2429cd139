"""All of Redis: keys, scripts, and one typed method for each operation."""
