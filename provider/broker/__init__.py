"""Celery as a publisher: application, options, queues, wake-ups."""
