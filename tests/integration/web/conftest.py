"""The web application over a real Redis; the facilitator is a small server, wake-ups are noted down."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask.testing import FlaskClient
from stellar_sdk import Keypair

from provider.chain.clock import LedgerClock
from provider.jobs.claim.desk import ClaimDesk
from provider.jobs.model.job import Job, Lease
from provider.jobs.model.job_id import service_of
from provider.jobs.model.status import ErrorCode
from provider.jobs.run.transitions import Outcomes
from provider.jobs.settle.settler import Settler
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.networks import TESTNET, USDC
from provider.payments.facilitator import FacilitatorClient
from provider.platform import Platform
from provider.services import Registry, Service
from provider.settings import Settings
from provider.web.app import create_app
from provider.web.resources.metrics import step_took
from tests.support.facilitator import FakeFacilitator, running_facilitator
from tests.support.payments import payment_header, signed_payment

PAY_TO = Keypair.random().public_key
WORD = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "times": {"type": "integer"}},
    "required": ["word"],
    "additionalProperties": False,
}


@dataclass
class NotedWakeUps:
    """A dispatcher that writes down what would be published, and may have it done by a thread."""

    handled: list[str] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    then: Callable[[str], Any] | None = None

    def handle(self, job_id: str) -> None:
        self.handled.append(job_id)
        self._follow(job_id)

    def settle(self, job_id: str) -> None:
        self.settled.append(job_id)
        self._follow(job_id)

    def _follow(self, job_id: str) -> None:
        then, self.then = self.then, None
        if then is not None:
            threading.Thread(target=then, args=(job_id,)).start()


class NoCache:
    """A clock without an RPC never asks it."""

    def get(self) -> str | None:
        return None

    def set(self, text: str, seconds: float) -> None:
        pass


@dataclass
class Worker:
    """What worker processes do to a job, one step at a time."""

    store: JobStore
    registry: Registry
    outcomes: Outcomes
    settler: Settler

    @property
    def lanes(self) -> Lanes:
        return Lanes(self.store)

    def start(self, job_id: str) -> Job:
        """Lease the job as its handler's start."""
        service = self.registry.get(service_of(job_id))
        lease = self.lanes.lease(service, job_id, "worker", lease_seconds=30)
        assert isinstance(lease, Lease), lease
        return lease.job

    def produce(self, job_id: str) -> None:
        """Run the job up to its stored output, not yet paid under on-success."""
        self.outcomes.output(self.start(job_id), '{"said":"hi"}', {})

    def finish(self, job_id: str) -> None:
        """Run the job and settle its payment."""
        self.produce(job_id)
        self.settler.settle(job_id)

    def fail(self, job_id: str, code: ErrorCode) -> None:
        """Let the handler fail."""
        self.outcomes.fail(self.start(job_id), code)


@dataclass
class Shop:
    """A running shop, as its tests see it."""

    client: FlaskClient
    store: JobStore
    desk: ClaimDesk
    facilitator: FakeFacilitator
    wake_ups: NotedWakeUps
    registry: Registry
    settings: Settings
    worker: Worker
    buyer: Keypair = field(default_factory=Keypair.random)

    def pay(self, name: str = "echo", **changes: Any) -> str:
        """Sign a payment for a service, as a PAYMENT-SIGNATURE header."""
        offer = self.desk.quote(self.registry.get(name))
        return payment_header(signed_payment(offer, self.buyer, 1_000, **changes))

    def call(
        self, name: str = "echo", header: str | None = None, prefer: str = "respond-async", **sent: Any
    ) -> Any:
        """Call a service with a payment, its own or a given one."""
        headers = {"PAYMENT-SIGNATURE": header or self.pay(name), "Prefer": prefer}
        return self.client.post(f"/run/{name}", headers=headers, **(sent or {"json": {"word": "hi"}}))


def echo(payload: dict[str, Any], context: Any) -> dict[str, Any]:
    return {"said": payload["word"]}


def sell(registry: Registry, name: str, charge: str, **limits: Any) -> None:
    example = {"example_input": {"word": "hi"}, "example_output": {"said": "hi"}}
    registry.add(
        Service(
            name=name,
            description=f"Say a word again, {charge}.",
            price="0.05",
            charge=charge,  # type: ignore[arg-type]
            handler=echo,
            input_schema=WORD,
            **{"output_schema": {"type": "object"}, **example, **limits},
        )
    )


@pytest.fixture
def registry() -> Registry:
    """Sell one service of each policy, and one with a short queue."""
    registry = Registry()
    sell(registry, "echo", "on-success", max_input_bytes=1_048_576)
    sell(registry, "prepaid", "upfront")
    sell(registry, "narrow", "on-success", max_queued=1)
    registry.check()
    return registry


@pytest.fixture(scope="module")
def shared_facilitator() -> Iterator[FakeFacilitator]:
    """Run a facilitator."""
    with running_facilitator() as facilitator:
        yield facilitator


@pytest.fixture
def facilitator(shared_facilitator: FakeFacilitator) -> FakeFacilitator:
    """Give a facilitator that likes every payment until told otherwise."""
    shared_facilitator.forget()
    return shared_facilitator


@pytest.fixture
def make_shop(registry: Registry, facilitator: FakeFacilitator) -> Callable[..., Shop]:
    """Open a shop on a Redis URL."""

    def make(redis_url: str, **changes: Any) -> Shop:
        return _open(_settings(redis_url, facilitator.url, **changes), registry, facilitator)

    return make


@pytest.fixture
def shop(make_shop: Callable[..., Shop], redis_url: str) -> Shop:
    """Open a shop on the session's Redis."""
    return make_shop(redis_url)


def reopened(shop: Shop, sells: Callable[[Registry], None]) -> Shop:
    """Open a shop again, on the same Redis, that sells something else."""
    registry = Registry()
    sells(registry)
    return _open(shop.settings, registry, shop.facilitator)


def _settings(redis_url: str, facilitator_url: str, **changes: Any) -> Settings:
    return Settings(
        client_address="connection",
        public_url="https://shop.example",
        redis_url=redis_url,
        network=TESTNET,
        asset=USDC[TESTNET],
        pay_to=PAY_TO,
        facilitator_url=facilitator_url,
        redis_timeout_seconds=0.5,
        # One buyer makes all calls of a test.
        **{"request_wait_seconds": 2, "payer_open_jobs": 1000, **changes},
    )


def _open(settings: Settings, registry: Registry, facilitator: FakeFacilitator) -> Shop:
    wake_ups = NotedWakeUps()
    asked = FacilitatorClient(facilitator.url, verify_timeout_seconds=2, observer=step_took)
    given = {"dispatcher": wake_ups, "clock": LedgerClock(None, NoCache()), "facilitator": asked}
    made = Platform(settings, registry, observer=step_took, **given)
    client = create_app(made).test_client()
    worker = Worker(made.store, registry, made.outcomes, made.settler)
    return Shop(client, made.store, made.desk, facilitator, wake_ups, registry, settings, worker)
