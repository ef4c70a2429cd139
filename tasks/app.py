"""The Celery application of this deployment: `provider worker handle --app tasks.app`, and others."""

from provider.workers import create_app

app = create_app()
