"""The Celery application of this deployment: `celery -A tasks.app worker`, `celery -A tasks.app beat`."""

from provider.workers.celery import app

__all__ = ["app"]
