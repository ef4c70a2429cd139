"""How gunicorn serves this shop; what stands below the import takes the place of what is imported."""

from provider.web.server import *  # noqa: F403
