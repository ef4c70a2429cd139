"""Celery as a publisher: options, queues, wake-ups."""
