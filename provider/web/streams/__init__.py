"""Event streams and held answers."""
