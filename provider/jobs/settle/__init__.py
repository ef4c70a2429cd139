"""The one settlement of a claim."""
