"""Many remote workers at once: each job runs once, and nobody gets what is not his (§11)."""

import threading
from collections import Counter
from typing import Any

import pytest

from provider.chain.clock import LedgerClock
from provider.jobs.model.status import Status
from provider.jobs.recover.sweep import Sweep
from provider.jobs.store.tokens import Tokens
from provider.services import Registry
from tests.integration.web.conftest import PAY_TO, NoCache, Shop, sell
from tests.support.farworker import FarWorker
from tests.support.invariants import Evidence, Run, check_invariants
from tests.support.racing import race
from tests.support.timetravel import pass_time

TYPES = ("red", "green", "blue", "grey")
JOBS = 200
WORKERS = 16
CONCURRENCY = 3
LAZY = 3
"""Workers that take a job and are not heard of any more, until it is too late."""


@pytest.fixture
def registry() -> Registry:
    """Sell four types of work that only remote workers do."""
    registry = Registry()
    for name in TYPES:
        sell(registry, name, "on-success", remote=True, concurrency=CONCURRENCY, max_queued=JOBS)
    registry.check()
    return registry


class Ledger:
    """What each worker got, and how many of a type were in hands beside it."""

    def __init__(self) -> None:
        self.got: dict[int, list[dict[str, Any]]] = {number: [] for number in range(WORKERS + LAZY)}
        self.done: list[str] = []
        self.runs: list[Run] = []
        self._now: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, number: int, job: dict[str, Any] | None) -> None:
        assert job is not None
        with self._lock:
            self.got[number].append(job)
            self._now[job["service"]] += 1
            self.runs.append(Run(job["id"], self._now[job["service"]]))

    def leave(self, job: dict[str, Any], *, done: bool = True) -> None:
        with self._lock:
            self._now[job["service"]] -= 1
            self.done += [job["id"]] * done


def allowed(number: int) -> tuple[str, ...]:
    """Every worker may run two types, so that each type has eight workers."""
    return TYPES[number % 4], TYPES[(number + 1) % 4]


def worker(shop: Shop, number: int) -> FarWorker:
    token = Tokens(shop.store).create(f"w{number}", allowed(number))
    return FarWorker(shop.client.application.test_client(), token)


def sweep(shop: Shop) -> None:
    clock = LedgerClock(None, NoCache())
    Sweep(shop.store, shop.registry, shop.worker.settler, clock, shop.wake_ups, shop.settings).run()


def test_sixteen_workers_race_for_two_hundred_jobs_of_four_types(shop: Shop) -> None:
    """Issue: each job ends once; tokens and slots hold; who stops heart-beating loses his job to another."""
    jobs = [shop.call(TYPES[number % 4]).json["id"] for number in range(JOBS)]
    workers = [worker(shop, number) for number in range(WORKERS + LAZY)]
    ledger = Ledger()

    def work(number: int) -> None:
        while job := workers[number].claim(*(allowed(number) if number % 2 else ())):
            ledger.take(number, job)
            assert workers[number].tell(job, "renew")["accepted"]
            ledger.leave(job)
            assert workers[number].tell(job, "complete", output={"by": number})["accepted"]

    for number in range(WORKERS, WORKERS + LAZY):
        ledger.take(number, workers[number].claim())
    lost = {number: got[0] for number, got in ledger.got.items() if got}
    assert race(WORKERS, work) == [None] * WORKERS
    for taken in lost.values():
        ledger.leave(taken, done=False)
    pass_time(shop.store.client, 31)
    sweep(shop)
    assert race(WORKERS, work) == [None] * WORKERS

    for number, taken in lost.items():
        told = workers[number].tell(taken, "complete", output={"by": "late"})
        assert told == {"accepted": False, "reason": "lost"}
    assert Counter(ledger.done) == Counter(jobs)
    assert all({job["service"] for job in got} <= set(allowed(n)) for n, got in ledger.got.items())
    check_records(shop, jobs, {job["id"] for job in lost.values()})
    transfers = shop.facilitator.transfers(PAY_TO)
    check_invariants(Evidence(shop.store, shop.registry, PAY_TO, transfers, 2000, ledger.runs))
    assert not any(worker.claim() for worker in workers)


def check_records(shop: Shop, jobs: list[str], lost: set[str]) -> None:
    """Each job was started once, and those of the lazy once more; each has the output of who completed it."""
    for job_id in jobs:
        job = shop.store.get(job_id)
        assert (job.status, job.starts) == (Status.RUNNING, 2 if job_id in lost else 1)
        assert "late" not in (job.output or "late")
        shop.worker.settler.settle(job_id)
        assert shop.store.get(job_id).status is Status.SUCCEEDED
