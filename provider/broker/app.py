"""A Celery application that knows every queue of a deployment: enough to publish."""

import os

from celery import Celery

from provider.broker.connection import AMQP, Events
from provider.broker.options import celery_config
from provider.services import Registry
from provider.settings import Settings


def make_app(settings: Settings, registry: Registry) -> Celery:
    """Make an application for a deployment's broker and queues. It has no tasks."""
    # Celery's command line takes BROKER_URL as it is spelled and lets it override the address made from it.
    os.environ.pop("CELERY_BROKER_URL", None)
    app = Celery("provider", amqp=AMQP, events=Events, set_as_current=False)
    app.conf.update(
        celery_config(settings, [service.name for service in registry], remote=registry.remote_names)
    )
    return app
