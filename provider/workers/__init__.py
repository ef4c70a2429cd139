"""Celery as a consumer: the application, its tasks, pools and beat."""

from provider.workers.app import create_app

__all__ = ["create_app"]
