"""The Celery application of this deployment: `celery -A tasks.app worker`, `celery -A tasks.app beat`."""

from provider.workers import create_app

app = create_app()
