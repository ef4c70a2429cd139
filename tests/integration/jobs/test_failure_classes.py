"""Failures have a class, and it decides what becomes of the job: local workers (R6)."""

import os
import signal
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.services import ChargePolicy, Context, DeterministicError, TransientError
from tests.support.failure_classes import CASES, LIMITS, Case, Failure, Moment
from tests.support.jobs import Platform, running_platform, service
from tests.support.timetravel import pass_time

STALL_SECONDS = 0.4
"""For those who stall: others may take their time to start, on a machine that is busy."""


def raising(error: BaseException) -> Callable[[Context], Any]:
    def fail(context: Context) -> Any:
        raise error

    return fail


def stall(context: Context) -> None:
    """Tell nothing for longer than `stall_seconds`."""
    context.cancelled.wait(20)


WAYS: dict[Failure, Callable[[Context], Any]] = {
    Failure.RAISED_TRANSIENT: raising(TransientError()),
    Failure.DECLARED_TRANSIENT: raising(ConnectionResetError()),
    Failure.RAISED_DETERMINISTIC: raising(DeterministicError()),
    Failure.INVALID_OUTPUT: lambda context: {},
    Failure.UNDECLARED: raising(RuntimeError()),
    Failure.EXITED: raising(SystemExit()),
    Failure.DIED: lambda context: os.kill(os.getpid(), signal.SIGKILL),
    Failure.STALLED: stall,
}


def fail(value: dict[str, Any], context: Context) -> Any:
    """Fail as the input says for so many attempts, then succeed."""
    if context.attempt > value["times"]:
        return {"done": True}
    return WAYS[Failure(value["failure"])](context)


@pytest.fixture
def platform(redis_url: str) -> Iterator[Platform]:
    """Sell what fails, under both policies."""
    with running_platform(redis_url) as parts:
        for charge, stall_seconds in product(ChargePolicy, (None, STALL_SECONDS)):
            limits = {**LIMITS, "stall_seconds": stall_seconds, "transient": (ConnectionError,)}
            name = name_of(charge, stalls=bool(stall_seconds))
            parts.registry.add(service(name, handler=fail, charge=charge, **limits))
        yield parts


def name_of(charge: ChargePolicy, *, stalls: bool) -> str:
    return f"{charge}{'-stalling' if stalls else ''}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_failure_ends_as_its_class_says(platform: Platform, case: Case) -> None:
    """R6, S1, S2: retries, deadline and charge, for one failure and for two."""
    name = name_of(case.charge, stalls=case.failure is Failure.STALLED)
    job = platform.buy(name, {"failure": case.failure, "times": case.times})
    platform.settler.settle(job.id)
    job = platform.job(job)
    if case.moment is Moment.LITTLE:
        pass_time(platform.store.client, case.seconds_to_pass(job))
    while not (job := attempted(platform, job)).is_final:
        if case.moment is Moment.NONE:
            pass_time(platform.store.client, case.seconds_to_pass(job))
        wait_for_the_retry(platform, job)
        platform.sweep.run()
    case.check(job)


def attempted(platform: Platform, job: Job) -> Job:
    """Run a job if it may run now, and settle what it gave."""
    platform.runner.run_next(job.service)
    platform.settler.settle(job.id)
    return platform.job(job)


def wait_for_the_retry(platform: Platform, job: Job) -> None:
    """Let the time pass that a job waits for its next try."""
    if job.status is Status.QUEUED and job.not_before_ms:
        pass_time(platform.store.client, 1 + (job.not_before_ms - job.created_at_ms) / 1000)
