"""What gunicorn serves: `gunicorn -c python:provider.web.server provider.web.wsgi:app`."""

from provider.logs import configure_logging
from provider.platform import Platform
from provider.web.app import create_app
from provider.web.resources.metrics import step_took

platform = Platform.from_env(observer=step_took)
configure_logging(platform.settings.log_level)
platform.warn_without_rpc()
platform.refuse_unsafe_redis()
platform.advise()
app = create_app(platform)
