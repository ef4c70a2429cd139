"""Celery as a consumer: the application, its tasks, pools and beat."""
