"""The Celery application of this shop."""
