"""How gunicorn serves this deployment: `provider web --config config/gunicorn.py`."""

from provider.web.server import *  # noqa: F403
