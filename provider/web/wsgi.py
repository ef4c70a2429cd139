"""What gunicorn serves: `gunicorn -c config/gunicorn.py provider.web.wsgi:app`."""

from provider import platform
from provider.doctor.redis import refuse_unsafe_redis
from provider.jobs.claim.desk import ClaimDesk
from provider.jobs.recover.cancel import Canceller
from provider.jobs.store.client import connect
from provider.jobs.store.subscription import JobEvents
from provider.logs import configure_logging
from provider.web.app import create_app
from provider.web.resources.metrics import facilitator_called
from provider.workers.celery import registry, settings

configure_logging(settings.log_level)

refuse_unsafe_redis(connect(settings.redis_url, timeout_seconds=settings.redis_timeout_seconds))
store = platform.store()
facilitator = platform.facilitator(facilitator_called)
desk = ClaimDesk(store, facilitator, platform.clock(), platform.dispatcher(), settings)
canceller = Canceller(store, platform.dispatcher(), settings)
app = create_app(
    settings,
    registry=registry,
    store=store,
    desk=desk,
    canceller=canceller,
    gateway=platform.gateway(),
    events=JobEvents(store),
)
