"""Celery, for those who publish wake-ups and those who consume them."""
