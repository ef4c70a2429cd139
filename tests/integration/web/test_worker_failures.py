"""Failures have a class, and it decides what becomes of the job: remote workers (R6)."""

from collections.abc import Callable
from typing import Any

import pytest

from provider.chain.clock import LedgerClock
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.recover.sweep import Sweep
from provider.jobs.store.tokens import Tokens
from provider.services import ChargePolicy, Registry
from tests.integration.web.conftest import NoCache, Shop
from tests.support.failure_classes import CASES, LIMITS, Case, Failure, Moment
from tests.support.farworker import FarWorker
from tests.support.jobs import service
from tests.support.timetravel import pass_time

NAMES = {ChargePolicy.ON_SUCCESS: "paid-later", ChargePolicy.UPFRONT: "paid-first"}
STALL_SECONDS = 1
Way = Callable[[Shop, FarWorker, dict[str, Any]], object]


def told(kind: str) -> Way:
    return lambda shop, worker, job: worker.tell(job, "fail", **{"class": kind})


def fall_silent(shop: Shop, worker: FarWorker, job: dict[str, Any]) -> None:
    """Never be heard of again."""
    pass_time(shop.store.client, 31)
    sweep(shop)


def stall(shop: Shop, worker: FarWorker, job: dict[str, Any]) -> None:
    """Renew, and tell of nothing."""
    pass_time(shop.store.client, STALL_SECONDS)
    worker.tell(job, "renew")


WAYS: dict[Failure, Way] = {
    Failure.RAISED_TRANSIENT: told("transient"),
    Failure.DECLARED_TRANSIENT: told("transient"),
    Failure.RAISED_DETERMINISTIC: told("deterministic"),
    Failure.INVALID_OUTPUT: lambda shop, worker, job: worker.tell(job, "complete", output={}),
    Failure.UNDECLARED: told("error"),
    Failure.EXITED: told("error"),
    Failure.DIED: told("interrupted"),
    Failure.STALLED: stall,
}


def is_death(case: Case) -> bool:
    return case.failure is Failure.DIED and case.moment is Moment.PLENTY


@pytest.fixture
def registry(case: Case) -> Registry:
    """Sell what fails far away, under both policies."""
    registry = Registry()
    limits = {**LIMITS, "stall_seconds": STALL_SECONDS if case.failure is Failure.STALLED else None}
    for charge, name in NAMES.items():
        registry.add(service(name, charge=charge, remote=True, **limits))
    return registry


@pytest.fixture
def worker(shop: Shop) -> FarWorker:
    return FarWorker(shop.client, Tokens(shop.store).create("bob", NAMES.values()))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_failure_far_away_ends_as_its_class_says(shop: Shop, worker: FarWorker, case: Case) -> None:
    """R6, S1, S2: the table of local workers, for one failure and for two."""
    live_through(shop, worker, case, WAYS[case.failure])


@pytest.mark.parametrize("case", [case for case in CASES if is_death(case)], ids=str)
def test_a_worker_that_falls_silent_is_one_that_died(shop: Shop, worker: FarWorker, case: Case) -> None:
    """R6: nobody has to say so."""
    live_through(shop, worker, case, fall_silent)


def live_through(shop: Shop, worker: FarWorker, case: Case, way: Way) -> None:
    """Have a job fail as often as its case says, and look at its end."""
    job = shop.store.get(shop.call(NAMES[case.charge]).json["id"])
    shop.worker.settler.settle(job.id)
    job = shop.store.get(job.id)
    if case.moment is Moment.LITTLE:
        pass_time(shop.store.client, case.seconds_to_pass(job))
    while not (job := attempted(shop, worker, job, case.times, way)).is_final:
        if case.moment is Moment.NONE:
            pass_time(shop.store.client, case.seconds_to_pass(job))
        if job.status is Status.QUEUED and job.not_before_ms:
            pass_time(shop.store.client, 1 + (job.not_before_ms - job.created_at_ms) / 1000)
        sweep(shop)
    case.check(job)


def attempted(shop: Shop, worker: FarWorker, job: Job, times: int, way: Way) -> Job:
    """Claim a job if it may run now, fail or complete it, and settle what it gave."""
    claimed = worker.claim()
    if claimed and claimed["attempt"] <= times:
        way(shop, worker, claimed)
    elif claimed:
        worker.tell(claimed, "complete", output={"done": True})
    shop.worker.settler.settle(job.id)
    return shop.store.get(job.id)


def sweep(shop: Shop) -> None:
    clock = LedgerClock(None, NoCache())
    Sweep(shop.store, shop.registry, shop.worker.settler, clock, shop.wake_ups, shop.settings).run()
