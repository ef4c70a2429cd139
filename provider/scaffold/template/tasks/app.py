"""The Celery application of this shop; periodic tasks of its own go into `app.conf.beat_schedule`."""

from provider.workers import create_app

app = create_app()
