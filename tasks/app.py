"""The Celery application: `celery -A tasks.app worker`, `celery -A tasks.app beat`."""

from celery import Celery
from celery.signals import setup_logging

from config.celery import celery_config
from config.logging import configure_logging
from config.settings import Settings
from provider.services import load_registry

settings = Settings.from_env()
registry = load_registry(settings.provider_services, settings.settle_margin_seconds)

app = Celery("provider")
app.conf.update(celery_config(settings, [service.name for service in registry]))


@setup_logging.connect
def _log_json_lines(**_: object) -> None:
    configure_logging(settings.log_level)
