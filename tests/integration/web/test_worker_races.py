"""Many remote workers at once: each job runs once, and nobody gets what is not his (§11)."""

import threading
from collections import Counter
from typing import Any

import pytest

from provider.jobs.models import Status
from provider.jobs.tokens import Tokens
from provider.services import Registry
from tests.integration.web.conftest import PAY_TO, Shop, sell
from tests.support.farworker import FarWorker
from tests.support.invariants import Evidence, Run, check_invariants
from tests.support.racing import race
from tests.support.timetravel import pass_time

TYPES = ("red", "green", "blue", "grey")
JOBS = 200
WORKERS = 16
CONCURRENCY = 6
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
        self.got: dict[int, list[dict[str, Any]]] = {number: [] for number in range(WORKERS)}
        self.done: list[str] = []
        self.runs: list[Run] = []
        self._now: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, number: int, job: dict[str, Any]) -> None:
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


def test_sixteen_workers_race_for_two_hundred_jobs_of_four_types(shop: Shop) -> None:
    """Issue: each job ends once; tokens and slots hold; who stops heart-beating loses his job to another."""
    jobs = [shop.call(TYPES[number % 4]).json["id"] for number in range(JOBS)]
    workers = [
        FarWorker(shop.client.application.test_client(), Tokens(shop.store).create(f"w{n}", allowed(n)))
        for n in range(WORKERS)
    ]
    ledger = Ledger()

    def work(number: int) -> None:
        while job := workers[number].claim(*(allowed(number) if number % 2 else ())):
            ledger.take(number, job)
            if number < LAZY:
                return
            ledger.leave(job)
            assert workers[number].tell(job, "complete", output={"by": number})["accepted"]

    assert race(WORKERS, work) == [None] * WORKERS
    pass_time(shop.store.client, 31)
    lost = [ledger.got[number][0] for number in range(LAZY)]
    for taken in lost:
        ledger.leave(taken, done=False)
        job = shop.store.get(taken["id"])
        assert shop.worker.outcomes.interrupted(job, shop.registry.get(job.service))
    assert race(WORKERS - LAZY, lambda number: work(number + LAZY)) == [None] * (WORKERS - LAZY)

    for number, taken in enumerate(lost):
        told = workers[number].tell(taken, "complete", output={"by": "late"})
        assert told == {"accepted": False, "reason": "lost"}
    assert Counter(ledger.done) == Counter(jobs)
    assert all({job["service"] for job in got} <= set(allowed(n)) for n, got in ledger.got.items())
    check_records(shop, jobs, {job["id"] for job in lost})
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
