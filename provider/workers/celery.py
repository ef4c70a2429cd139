"""The Celery application of the workers and of beat."""

import os

from celery import Celery
from celery.signals import beat_init, setup_logging, worker_init

from provider.broker.options import celery_config
from provider.doctor.redis import refuse_unsafe_redis
from provider.errors import ConfigurationError
from provider.jobs.store.client import connect
from provider.logs import configure_logging
from provider.services import load_registry
from provider.settings import Settings

settings = Settings.from_env()
registry = load_registry(settings.provider_services, settings.settle_margin_seconds)

# Celery's command line takes BROKER_URL as it is spelled and lets it override the address made from it below.
os.environ.pop("CELERY_BROKER_URL", None)
app = Celery("provider")
remote = frozenset(service.name for service in registry if service.remote)
app.conf.update(celery_config(settings, [service.name for service in registry], remote=remote))


@setup_logging.connect
def _log_json_lines(**_: object) -> None:
    configure_logging(settings.log_level)


@worker_init.connect
@beat_init.connect
def _refuse_unsafe_redis(**_: object) -> None:
    """End a process that would write claims where they may be evicted (C4); Celery only logs other errors."""
    try:
        refuse_unsafe_redis(connect(settings.redis_url, timeout_seconds=settings.redis_timeout_seconds))
    except ConfigurationError as error:
        raise SystemExit(error.detail) from error
