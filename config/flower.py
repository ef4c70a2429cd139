"""How Flower shows this deployment: `celery -A tasks.app flower --conf=config/flower.py`."""

from provider.workers.flower import *  # noqa: F403
