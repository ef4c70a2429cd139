"""What gunicorn serves: `gunicorn -c config/gunicorn.py provider.web.wsgi:app`."""

from config.logging import configure_logging
from provider.chain.clock import LedgerClock
from provider.chain.rpc import StellarRpc
from provider.jobs.claims import ClaimDesk
from provider.jobs.events import JobEvents
from provider.jobs.ledgercache import LedgerCache
from provider.web.app import create_app
from tasks import parts
from tasks.app import registry, settings

configure_logging(settings.log_level)

store = parts.store()
rpc = StellarRpc(settings.stellar_rpc_urls[0]) if settings.stellar_rpc_urls else None
clock = LedgerClock(rpc, LedgerCache(store), ledger_seconds=settings.ledger_seconds)
desk = ClaimDesk(store, parts.facilitator(), clock, parts.dispatcher(), settings)
app = create_app(settings, registry=registry, store=store, desk=desk, events=JobEvents(store))
