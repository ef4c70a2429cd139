"""What `celery --app provider.workers.celery` runs: the deployment that the environment describes."""

from provider.workers.app import create_app

app = create_app()
