"""The composition root: each object of a process is made here, once, from the settings.

Objects are made when they are first used, so after a worker's pool has forked. Whoever builds a `Platform`
may give it parts that it would otherwise make: a worker its publisher, a test its clock.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import structlog
from celery import Celery

from provider.broker.app import make_app
from provider.broker.dispatcher import CeleryDispatcher
from provider.chain.clock import LedgerClock
from provider.chain.past import PastPayments
from provider.chain.rpc import StellarRpc
from provider.doctor.redis import refuse_eviction, refuse_unsafe_redis
from provider.jobs.claim.desk import ClaimDesk
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.reconcile.run import Reconciler
from provider.jobs.recover.cancel import Canceller
from provider.jobs.recover.retry_now import Nudge
from provider.jobs.recover.sweep import Sweep
from provider.jobs.remote.dispatcher import AnnouncingDispatcher
from provider.jobs.remote.gateway import Gateway
from provider.jobs.run.runner import Runner
from provider.jobs.run.transitions import Outcomes
from provider.jobs.settle.settler import Settler
from provider.jobs.store.client import Client, connect
from provider.jobs.store.durability import Durability
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.ledger_cache import LedgerCache
from provider.jobs.store.metrics import Figures
from provider.jobs.store.rounds import Rounds
from provider.jobs.store.subscription import JobEvents
from provider.jobs.store.tokens import Tokens
from provider.networks import PASSPHRASES
from provider.payments.facilitator import FacilitatorClient, Observer
from provider.services import Registry, load_registry
from provider.services.checkpoints import CheckpointLimits
from provider.settings import Settings

log = structlog.get_logger()

DECLARATION = "declaration_advice"
NO_RPC = "no_stellar_rpc"


class Platform:
    """One deployment's objects, as one process uses them."""

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        *,
        dispatcher: Dispatcher | None = None,
        clock: LedgerClock | None = None,
        facilitator: FacilitatorClient | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.settings = settings
        self.registry = registry
        self._dispatcher = dispatcher
        self._clock = clock
        self._facilitator = facilitator
        self._observer = observer

    @classmethod
    def from_env(cls, *, observer: Observer | None = None) -> Self:
        """Read settings and services. Raises SettingsError or ConfigurationError."""
        settings = Settings.from_env()
        registry = load_registry(settings.provider_services, settings.settle_margin_seconds)
        return cls(settings, registry, observer=observer)

    def advise(self) -> None:
        """Log what is worth changing in the declarations."""
        for line in self.registry.advice(self.settings.settle_margin_seconds):
            log.warning(DECLARATION, advice=line)

    # The store

    def refuse_unsafe_redis(self) -> None:
        """Raise ConfigurationError where claims could be evicted or lost (C4)."""
        refuse_unsafe_redis(
            connect(self.settings.redis_url, timeout_seconds=self.settings.redis_timeout_seconds)
        )

    @cached_property
    def client(self) -> Client:
        return connect(
            self.settings.redis_url,
            timeout_seconds=self.settings.redis_timeout_seconds,
            most_connections=self.settings.redis_connections,
            guard=refuse_eviction,
        )

    @cached_property
    def store(self) -> JobStore:
        return JobStore(
            self.client,
            retention_seconds=self.settings.retention_seconds,
            uncharged_retention_seconds=self.settings.uncharged_retention_seconds,
            limits=CheckpointLimits.of(self.settings),
        )

    @cached_property
    def lanes(self) -> Lanes:
        return Lanes(self.store)

    @cached_property
    def tokens(self) -> Tokens:
        return Tokens(self.store)

    @cached_property
    def events(self) -> JobEvents:
        return JobEvents(self.store)

    # Outside

    @cached_property
    def celery(self) -> Celery:
        """What publishes; a worker runs the same application with tasks."""
        return make_app(self.settings, self.registry)

    @cached_property
    def dispatcher(self) -> Dispatcher:
        """What wakes workers: Celery's messages, and announcements to remote workers."""
        if self._dispatcher is not None:
            return self._dispatcher
        return AnnouncingDispatcher(self.store, CeleryDispatcher(self.celery), self.registry.remote_names)

    @cached_property
    def facilitator(self) -> FacilitatorClient:
        return self._facilitator or FacilitatorClient(
            self.settings.facilitator_url,
            verify_timeout_seconds=self.settings.verify_timeout_seconds,
            settle_timeout_seconds=self.settings.settle_timeout_seconds,
            api_key=self.settings.facilitator_api_key or None,
            observer=self._observer,
        )

    def rpc(self, url: str) -> StellarRpc:
        return StellarRpc(url, observer=Figures(self.store).rpc_called)

    @cached_property
    def clock(self) -> LedgerClock:
        """The ledger clock; it never answers where no RPC is configured."""
        if self._clock is not None:
            return self._clock
        first = next(map(self.rpc, self.settings.stellar_rpc_urls), None)
        return LedgerClock(first, LedgerCache(self.store), ledger_seconds=self.settings.ledger_seconds)

    # A job's way

    @cached_property
    def desk(self) -> ClaimDesk:
        return ClaimDesk(
            self.store,
            self.facilitator,
            self.clock,
            self.dispatcher,
            self.settings,
            self.past_payments,
            self._observer,
        )

    @cached_property
    def past_payments(self) -> PastPayments | None:
        """What looks up payments that no claim knows; None when no Stellar RPC is configured."""
        first = next(map(self.rpc, self.settings.stellar_rpc_urls), None)
        return PastPayments(first, PASSPHRASES[self.settings.network]) if first else None

    @cached_property
    def outcomes(self) -> Outcomes:
        return Outcomes(self.store, self.dispatcher, self.settings)

    @cached_property
    def runner(self) -> Runner:
        return Runner(self.store, self.registry, self.dispatcher, self.settings)

    @cached_property
    def settler(self) -> Settler:
        durability = Durability(self.store.client, timeout_ms=self.settings.durability_timeout_ms)
        return Settler(self.store, self.facilitator, durability, self.dispatcher, self.settings)

    @cached_property
    def gateway(self) -> Gateway:
        return Gateway(self.store, self.registry, self.dispatcher, self.settings)

    # Recovery

    @cached_property
    def canceller(self) -> Canceller:
        return Canceller(self.store, self.dispatcher, self.settings)

    @cached_property
    def sweep(self) -> Sweep:
        return Sweep(self.store, self.registry, self.settler, self.clock, self.dispatcher, self.settings)

    @cached_property
    def rounds(self) -> Rounds:
        return Rounds(self.store)

    def warn_without_rpc(self) -> None:
        """Log at the start of a process that payments whose answer is lost cannot be decided."""
        if not self.settings.stellar_rpc_urls:
            log.warning(NO_RPC, todo="set STELLAR_RPC_URLS")

    @cached_property
    def reconciler(self) -> Reconciler | None:
        """The reconciler; None when no Stellar RPC is configured."""
        return self.reconciler_by(self.settings.stellar_rpc_urls) if self.settings.stellar_rpc_urls else None

    def reconciler_by(self, urls: Sequence[str]) -> Reconciler:
        """Make a reconciler that asks these RPCs: the first decides, the others must agree (§10)."""
        return Reconciler(self.store, [self.rpc(url) for url in urls], self.settler, self.settings)

    @cached_property
    def nudge(self) -> Nudge:
        return Nudge(self.store, self.registry, self.dispatcher, self.reconciler)
