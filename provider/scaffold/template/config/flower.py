"""How Flower shows this shop; what stands below the import takes the place of what is imported."""

from provider.workers.flower import *  # noqa: F403
