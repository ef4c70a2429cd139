"""What gunicorn serves: `gunicorn -c config/gunicorn.py provider.web.wsgi:app`."""

from config.logging import configure_logging
from provider.jobs.cancel import Canceller
from provider.jobs.claims import ClaimDesk
from provider.jobs.connection import connect
from provider.jobs.events import JobEvents
from provider.jobs.health import refuse_unsafe_redis
from provider.web.app import create_app
from provider.web.metrics import facilitator_called
from tasks import parts
from tasks.app import registry, settings

configure_logging(settings.log_level)

refuse_unsafe_redis(connect(settings.redis_url, timeout_seconds=settings.redis_timeout_seconds))
store = parts.store()
facilitator = parts.facilitator(facilitator_called)
desk = ClaimDesk(store, facilitator, parts.clock(), parts.dispatcher(), settings)
canceller = Canceller(store, parts.dispatcher(), settings)
app = create_app(
    settings,
    registry=registry,
    store=store,
    desk=desk,
    canceller=canceller,
    gateway=parts.gateway(),
    events=JobEvents(store),
)
