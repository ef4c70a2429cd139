"""The domain objects of the test's own process, over the same Redis and the same network as the others."""

import socket
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path

from celery import Celery

from provider.broker.dispatcher import CeleryDispatcher
from provider.broker.options import celery_config
from provider.chain.clock import LedgerClock
from provider.chain.rpc import StellarRpc
from provider.jobs.reconcile.run import Reconciler
from provider.jobs.recover.sweep import Sweep
from provider.jobs.settle.settler import Settler
from provider.jobs.store.client import connect
from provider.jobs.store.durability import Durability
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.ledger_cache import LedgerCache
from provider.payments.facilitator import FacilitatorClient
from provider.services import Registry
from provider.settings import Settings
from tests.support.localnet import LocalNet

LEDGER_SECONDS = 0.2


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class Parts:
    """What sweeps, reconciles and reads."""

    redis_url: str
    net: LocalNet
    home: Path
    port: int = field(default_factory=_free_port)
    broker_url: str = ""
    services: str = "tests.chaos.services"
    """The module that sells; its registry is what the processes load."""

    @cached_property
    def settings(self) -> Settings:
        return Settings(
            public_url=f"http://127.0.0.1:{self.port}",
            redis_url=self.redis_url,
            broker_url=self.broker_url,
            asset=self.net.state.config.token.contract,
            pay_to=self.net.seller.public_key,
            facilitator_url=self.net.facilitator.url,
            stellar_rpc_urls=(self.net.chain.url,),
            ledger_seconds=LEDGER_SECONDS,
            lease_seconds=1.0,
            settle_timeout_seconds=20.0,
            orphan_margin_seconds=5.0,
            worker_stop_seconds=1.0,
        )

    @property
    def registry(self) -> Registry:
        found: Registry = import_module(self.services).registry
        return found

    @cached_property
    def store(self) -> JobStore:
        return JobStore(connect(self.redis_url))

    @cached_property
    def dispatcher(self) -> CeleryDispatcher:
        app = Celery("chaos")
        app.conf.update(celery_config(self.settings, [service.name for service in self.registry]))
        return CeleryDispatcher(app)

    @cached_property
    def settler(self) -> Settler:
        client = FacilitatorClient(self.net.facilitator.url)
        durability = Durability(self.store.client, timeout_ms=3000)
        return Settler(self.store, client, durability, self.dispatcher, self.settings)

    @cached_property
    def rpc(self) -> StellarRpc:
        return StellarRpc(self.net.chain.url)

    @cached_property
    def clock(self) -> LedgerClock:
        return LedgerClock(self.rpc, LedgerCache(self.store), ledger_seconds=LEDGER_SECONDS)

    def sweep(self) -> None:
        Sweep(self.store, self.registry, self.settler, self.clock, self.dispatcher, self.settings).run()

    def reconcile(self) -> None:
        Reconciler(self.store, [self.rpc], self.settler, self.settings).run()
