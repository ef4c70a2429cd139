"""The domain without its adapters: real Redis, a facilitator as the outside world, wake-ups in a list."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from stellar_sdk import Keypair

from provider import platform
from provider.chain.clock import LedgerClock, LedgerTime
from provider.jobs.claim.paid_call import Caller
from provider.jobs.model.job import Job
from provider.networks import USDC
from provider.payments.facilitator import FacilitatorClient
from provider.payments.models import PaymentPayload
from provider.services import ChargePolicy, Context, DeterministicError, Registry, Service, TransientError
from provider.settings import Settings
from tests.support.facilitator import FakeFacilitator, running_facilitator
from tests.support.payments import signed_payment

NETWORK = "stellar:testnet"
LATEST_LEDGER = 1000
ANY_OBJECT = {"type": "object"}


def echo(value: dict[str, Any], context: Context) -> Any:
    """Do what the input says: fail, loop, or give it back."""
    match value.get("do"):
        case "raise":
            raise RuntimeError("a secret of the seller")
        case "transient":
            raise TransientError
        case "deterministic":
            raise DeterministicError
        case "text":
            return "not an object"
        case "loop":
            while True:
                pass
        case "swallow":
            while True:
                try:
                    while True:
                        pass
                except BaseException:
                    continue
        case "die":
            import os

            os.kill(os.getpid(), 9)
        case "progress":
            for done in range(1, 101):
                context.progress(done, 100)
    return {"echo": value, "attempt": context.attempt}


@dataclass
class Wakeups:
    """A dispatcher that remembers."""

    handled: list[str] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)

    def handle(self, job_id: str) -> None:
        self.handled.append(job_id)

    def settle(self, job_id: str) -> None:
        self.settled.append(job_id)


@dataclass
class FixedClock(LedgerClock):
    """A ledger clock that stands where the test puts it."""

    latest_ledger: int = LATEST_LEDGER
    ledger_seconds: float = 5.0

    def read(self) -> LedgerTime | None:
        return LedgerTime(self.latest_ledger, 0.0, self.ledger_seconds)


@dataclass
class Platform:
    """All parts of one provider, ready to be driven step by step."""

    redis_url: str
    facilitator: FakeFacilitator
    options: dict[str, Any] = field(default_factory=dict)
    wakeups: Wakeups = field(default_factory=Wakeups)
    clock: FixedClock = field(default_factory=FixedClock)
    seller: Keypair = field(default_factory=Keypair.random)

    @cached_property
    def settings(self) -> Settings:
        given = {
            "redis_url": self.redis_url,
            "pay_to": self.seller.public_key,
            "asset": USDC[NETWORK],
            "facilitator_url": self.facilitator.url,
        }
        return Settings(**{**given, **self.options})

    @cached_property
    def registry(self) -> Registry:
        registry = Registry()
        for name, charge in (("after", ChargePolicy.ON_SUCCESS), ("before", ChargePolicy.UPFRONT)):
            registry.add(service(name, charge=charge))
        return registry

    @cached_property
    def client(self) -> FacilitatorClient:
        return FacilitatorClient(self.facilitator.url, settle_timeout_seconds=5)

    @cached_property
    def made(self) -> platform.Platform:
        given = {"dispatcher": self.wakeups, "clock": self.clock, "facilitator": self.client}
        return platform.Platform(self.settings, self.registry, **given)

    def __getattr__(self, name: str) -> Any:
        """Give the object that a process would use: `store`, `desk`, `settler`, `runner`, `sweep` …"""
        return getattr(self.made, name)

    def payment(self, service_name: str = "after", **options: Any) -> PaymentPayload:
        """Sign a payment for a service, valid until 60 ledgers from now."""
        offer = self.desk.quote(self.registry.get(service_name))
        given = {"keypair": Keypair.random(), "expiration_ledger": self.clock.latest_ledger + 60}
        return signed_payment(offer, **{**given, **options})

    def buy(
        self, service_name: str = "after", value: dict[str, Any] | None = None,
        payment: PaymentPayload | None = None, proof: str | None = None, address: str = "198.51.100.7",
    ) -> Job:  # fmt: skip
        """Make a paid call."""
        service, given = self.registry.get(service_name), value or {}
        caller = Caller(proof, address)
        return self.desk.call(service, lambda: given, payment or self.payment(service_name), caller)

    def job(self, job: Job) -> Job:
        """Read a job again."""
        return self.store.get(job.id)

    def finish(self, job: Job) -> Job:
        """Take a claimed job through all its steps."""
        for _ in range(2):
            self.settler.settle(job.id)
            self.runner.run_next(job.service)
        self.settler.settle(job.id)
        return self.job(job)


def service(name: str, **fields: Any) -> Service:
    """Declare a test service that runs `echo`."""
    given: dict[str, Any] = {
        "name": name,
        "description": "Gives its input back.",
        "price": "0.05",
        "charge": ChargePolicy.ON_SUCCESS,
        "input_schema": ANY_OBJECT,
        "output_schema": ANY_OBJECT,
        "handler": echo,
        "timeout_seconds": 30,
        "concurrency": 2,
    }
    return Service(**{**given, **fields})


def selling(*names: str) -> Registry:
    """Make a registry of test services."""
    registry = Registry()
    for name in names:
        registry.add(service(name))
    return registry


@contextmanager
def running_platform(redis_url: str, **options: Any) -> Iterator[Platform]:
    """Build a platform over an empty Redis."""
    with running_facilitator() as facilitator:
        yield Platform(redis_url, facilitator, options)
