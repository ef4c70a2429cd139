"""The domain objects of the test's own process, over the same Redis and the same network as the others."""

from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from provider.platform import Platform
from provider.services import Registry
from provider.settings import Settings
from tests.support.localnet import LocalNet
from tests.support.processes import free_ports

LEDGER_SECONDS = 0.2


@dataclass
class Parts:
    """What sweeps, reconciles and reads."""

    redis_url: str
    net: LocalNet
    home: Path
    port: int = field(default_factory=lambda: free_ports(1)[0])
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
            payer_open_jobs=1000,  # One buyer makes all calls.
        )

    @property
    def registry(self) -> Registry:
        found: Registry = import_module(self.services).registry
        return found

    @cached_property
    def platform(self) -> Platform:
        return Platform(self.settings, self.registry)

    def __getattr__(self, name: str) -> Any:
        """Give the object that a process would use: `store`, `settler`, `clock` …"""
        return getattr(self.platform, name)

    def sweep(self) -> None:
        self.platform.sweep.run()

    def reconcile(self) -> None:
        self.platform.reconciler_by(self.settings.stellar_rpc_urls).run()
