"""How gunicorn serves this deployment: `gunicorn -c config/gunicorn.py provider.web.wsgi:app`."""

from provider.web.server import *  # noqa: F403
