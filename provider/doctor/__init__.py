"""Checks of a deployment, one file a subject."""
