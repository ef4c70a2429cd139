"""This deployment's Celery application."""
