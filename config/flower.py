"""How Flower shows this deployment: `provider flower --app tasks.app --config config/flower.py`."""

from provider.workers.flower import *  # noqa: F403
