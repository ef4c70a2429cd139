"""A cancel against each step of a job at the same moment: one outcome, and no money for nothing (R7).

Whoever makes the step waits right before its script for the one who cancels; then both go, one of them some
tenths of a millisecond late, a little later each round.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from provider.errors import CancelRefused
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store.scripts import Scripts
from provider.payments.schemas import load_payload
from provider.payments.stellar.check import identify_payment
from tests.support.facilitator import Answer, settled
from tests.support.invariants import Evidence, check_invariants
from tests.support.jobs import Platform, running_platform

ROUNDS = 100
LATE_SECONDS = 0.0002
"""What a late one gains each round, in ten rounds; then it starts over."""


@dataclass
class StartLine(Scripts):
    """Scripts that wait before one step for the other side."""

    platform: Platform
    step: str = ""
    line: threading.Barrier = field(default_factory=lambda: threading.Barrier(2))
    late: float = 0.0

    def __post_init__(self) -> None:
        Scripts.__init__(self, self.platform.store.client)

    def __call__(self, name: str, keys: Any, args: Any) -> Any:
        if name == self.step:
            self.step = ""
            self.line.wait(20)
            time.sleep(max(0.0, self.late))
        return super().__call__(name, keys, args)


@dataclass(frozen=True)
class Transfer:
    """A payment on chain."""

    recipient: str
    nonce: int


@dataclass
class Race:
    """A worker and somebody who cancels, each with connections of their own."""

    platform: Platform
    worker: Platform
    transfers: list[Transfer] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.platform.facilitator.settle = self.charge
        self.scripts = StartLine(self.worker)
        self.worker.store.scripts = self.scripts

    def charge(self, body: dict[str, Any]) -> Answer:
        """Settle, and remember who paid."""
        nonce = identify_payment(load_payload(body["paymentPayload"])).nonce
        self.transfers.append(Transfer(self.platform.settings.pay_to, nonce))
        return settled(body)

    def run(
        self, step: str, name: str, prepare: Callable[[Job], object], act: Callable[[Job], object]
    ) -> None:
        """Race `act`, at its step, for a new job in each round, and take each job to its end."""
        with ThreadPoolExecutor(2) as pool:
            for number in range(ROUNDS):
                job = self.platform.buy(name)
                pool.submit(prepare, job).result(20)
                late = (number % 10 - 5) * LATE_SECONDS
                self.scripts.step, self.scripts.late = step, late
                acting, cancelling = pool.submit(act, job), pool.submit(self.cancel, job, -late)
                acting.result(20)
                told = cancelling.result(20)
                self.check(self.platform.finish(job), told)
        assert len(self.told) > 1, "never a race"
        self.check_invariants()

    def cancel(self, job: Job, late: float) -> str:
        """Cancel at the start line; tell what the buyer is told."""
        self.scripts.line.wait(20)
        time.sleep(max(0.0, late))
        try:
            return self.platform.canceller.cancel(job.id, forfeit=True).status
        except CancelRefused as refused:
            return refused.code

    def check(self, job: Job, told: str) -> None:
        """Hold the one outcome against what the buyer was told, and the money against both."""
        self.told[told] += 1
        charges = [item for item in self.transfers if item.nonce == job.terms.nonce]
        paid = job.status is Status.SUCCEEDED or job.charge == "upfront"
        assert job.status is (Status.CANCELLED if told in ("cancelled", "running") else Status.SUCCEEDED)
        assert (len(charges), job.charged) == (int(paid), paid)

    def check_invariants(self) -> None:
        store, registry = self.platform.store, self.platform.registry
        pay_to = self.platform.settings.pay_to
        check_invariants(Evidence(store, registry, pay_to, self.transfers, latest_ledger=2000))


@pytest.fixture
def race(redis_url: str) -> Iterator[Race]:
    """Let a worker and a buyer at the same jobs."""
    with running_platform(redis_url) as buyer:
        worker = Platform(redis_url, buyer.facilitator, seller=buyer.seller)
        yield Race(buyer, worker)


def test_a_cancel_races_the_start(race: Race) -> None:
    """Cancelled before it starts, or stopped after: nothing is charged."""
    run_next = race.worker.runner.run_next
    race.run("lease", "after", lambda job: None, lambda job: run_next("after"))
    assert set(race.told) <= {"cancelled", "running"}


def test_a_cancel_races_the_start_of_a_paid_job(race: Race) -> None:
    """The work may be done by the time the cancel comes; then the buyer keeps what he paid for."""
    settle, run_next = race.worker.settler.settle, race.worker.runner.run_next
    race.run("lease", "before", lambda job: settle(job.id), lambda job: run_next("before"))
    assert set(race.told) <= {"cancelled", "running", "job_finished"}


def test_a_cancel_races_the_output(race: Race) -> None:
    """Stored or not, an output that nobody settles costs nothing."""
    run_next = race.worker.runner.run_next
    race.run("move", "after", lambda job: None, lambda job: run_next("after"))
    assert set(race.told) <= {"cancelled", "running"}


def test_a_cancel_races_the_completion_of_a_paid_job(race: Race) -> None:
    """Either the output is there, or the payment is forfeit: never both."""
    settle, run_next = race.worker.settler.settle, race.worker.runner.run_next
    race.run("move", "before", lambda job: settle(job.id), lambda job: run_next("before"))
    assert set(race.told) <= {"cancelled", "running", "job_finished"}


def test_a_cancel_races_the_settling(race: Race) -> None:
    """S4: whoever is first; a cancelled job is never charged, a charged one never cancelled."""
    worker = race.worker
    race.run(
        "begin_settlement",
        "after",
        lambda job: worker.runner.run_next("after"),
        lambda job: worker.settler.settle(job.id),
    )
    assert set(race.told) <= {"cancelled", "settlement_begun", "job_finished"}


def test_a_cancel_races_the_completion(race: Race) -> None:
    """Settling has begun, so the cancel is refused whatever it finds."""
    worker = race.worker
    race.run(
        "move",
        "after",
        lambda job: worker.runner.run_next("after"),
        lambda job: worker.settler.settle(job.id),
    )
    assert set(race.told) <= {"settlement_begun", "job_finished"}


def test_cancelling_all_that_wait_races_their_start(race: Race) -> None:
    """R7: each job is cancelled, or runs to its end and is charged; those that had started are left alone."""
    started = Counter[bool]()
    for _ in range(10):
        jobs = [race.platform.buy() for _ in range(10)]
        with ThreadPoolExecutor(2) as pool:
            race.scripts.step = "lease"
            working = pool.submit(race.worker.runner.run_lane, "after")
            race.scripts.line.wait(20)
            counts = race.platform.canceller.cancel_all("after", [Status.QUEUED])
            working.result(20)
        ends = Counter(race.platform.finish(job).status for job in jobs)
        assert ends[Status.CANCELLED] == counts["cancelled"]
        assert counts.total() <= len(jobs) == ends[Status.CANCELLED] + ends[Status.SUCCEEDED]
        started.update(status is Status.SUCCEEDED for status in ends.elements())
    assert len(started) == 2, "never a race"
    race.check_invariants()
