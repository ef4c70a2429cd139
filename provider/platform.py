"""The domain objects of a worker process, built when they are first used (so after the pool forked)."""

from collections.abc import Sequence
from functools import cache

from provider.broker.dispatcher import CeleryDispatcher
from provider.chain.clock import LedgerClock
from provider.chain.rpc import StellarRpc
from provider.doctor.redis import refuse_eviction
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.reconcile.run import Reconciler
from provider.jobs.recover.sweep import Sweep
from provider.jobs.remote.dispatcher import AnnouncingDispatcher
from provider.jobs.remote.gateway import Gateway
from provider.jobs.run.runner import Runner
from provider.jobs.settle.settler import Settler
from provider.jobs.store.client import connect
from provider.jobs.store.durability import Durability
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.ledger_cache import LedgerCache
from provider.jobs.store.metrics import Figures
from provider.payments.facilitator import FacilitatorClient, Observer
from provider.services.checkpoints import CheckpointLimits
from provider.workers.celery import app, registry, remote, settings


@cache
def store() -> JobStore:
    timeout, limits = settings.redis_timeout_seconds, CheckpointLimits.of(settings)
    client = connect(settings.redis_url, timeout_seconds=timeout, guard=refuse_eviction)
    return JobStore(client, retention_seconds=settings.retention_seconds, limits=limits)


@cache
def dispatcher() -> Dispatcher:
    return AnnouncingDispatcher(store(), CeleryDispatcher(app), remote)


@cache
def facilitator(observer: Observer | None = None) -> FacilitatorClient:
    return FacilitatorClient(
        settings.facilitator_url,
        verify_timeout_seconds=settings.verify_timeout_seconds,
        settle_timeout_seconds=settings.settle_timeout_seconds,
        api_key=settings.facilitator_api_key or None,
        observer=observer,
    )


def rpc(url: str) -> StellarRpc:
    return StellarRpc(url, observer=Figures(store()).rpc_called)


@cache
def runner() -> Runner:
    return Runner(store(), registry, dispatcher(), settings)


@cache
def settler() -> Settler:
    durability = Durability(store().client, timeout_ms=settings.durability_timeout_ms)
    return Settler(store(), facilitator(), durability, dispatcher(), settings)


@cache
def gateway() -> Gateway:
    return Gateway(store(), registry, dispatcher(), settings)


@cache
def clock() -> LedgerClock:
    first = rpc(settings.stellar_rpc_urls[0]) if settings.stellar_rpc_urls else None
    return LedgerClock(first, LedgerCache(store()), ledger_seconds=settings.ledger_seconds)


@cache
def sweep() -> Sweep:
    return Sweep(store(), registry, settler(), clock(), dispatcher(), settings)


@cache
def reconciler() -> Reconciler | None:
    """Give the reconciler; None when no Stellar RPC is configured."""
    return reconciler_by(settings.stellar_rpc_urls) if settings.stellar_rpc_urls else None


def reconciler_by(urls: Sequence[str]) -> Reconciler:
    """Build a reconciler that asks these RPCs: the first decides, the others must agree (§10)."""
    return Reconciler(store(), [rpc(url) for url in urls], settler(), settings)
