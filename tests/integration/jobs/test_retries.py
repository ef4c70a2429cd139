"""When a transient failure is tried again (R6, S2)."""

import itertools
from collections.abc import Iterator

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.run.transitions import MOST_BACKOFF_SECONDS, backoff_seconds
from provider.services import Service
from tests.support.jobs import Platform, running_platform, service
from tests.support.timetravel import pass_time

BUDGET_SECONDS = 40


@pytest.fixture
def platform(redis_url: str) -> Iterator[Platform]:
    """Sell work of 40 s that the sweep looks at every 15 s."""
    with running_platform(redis_url, sweep_seconds=15.0) as parts:
        limits = {"expected_seconds": BUDGET_SECONDS, "timeout_seconds": BUDGET_SECONDS}
        parts.registry.add(service("shaky", max_retries=3, **limits))
        yield parts


def failing_with(platform: Platform, seconds_left: float) -> Job:
    """Lease a job so many seconds before its deadline."""
    job = platform.buy("shaky", {"do": "transient"})
    assert job.deadline_ms is not None
    pass_time(platform.store.client, (job.deadline_ms - job.created_at_ms) / 1000 - seconds_left)
    platform.lanes.lease(platform.registry.get("shaky"), job.id, "w", lease_seconds=30)
    return platform.job(job)


def retried(platform: Platform, job: Job) -> Job:
    platform.outcomes.retry(job, platform.registry.get("shaky"), {"done": 7})
    return platform.job(job)


def test_the_wait_before_another_try_doubles_up_to_a_limit() -> None:
    """R6: exponential backoff, full jitter; however often a service retries."""
    for retries, ceiling in ((0, 2), (1, 4), (5, 64), (20, MOST_BACKOFF_SECONDS), (5000, 300)):
        drawn = [backoff_seconds(retries) for _ in range(400)]
        assert 0 <= min(drawn) < ceiling * 0.1
        assert ceiling * 0.9 < max(drawn) <= ceiling


def test_a_retry_that_the_sweep_would_start_too_late_starts_at_once(platform: Platform) -> None:
    """S2: 50 s left for 40 s of work; the next sweep may be 15 s away."""
    job = retried(platform, failing_with(platform, BUDGET_SECONDS + 10))
    assert (job.status, job.not_before_ms, job.retries) == (Status.QUEUED, None, 1)
    assert platform.wakeups.handled[-1] == job.id
    assert platform.lanes.next("shaky", 1) == [job.id]


def test_a_retry_that_has_time_waits_for_the_sweep(platform: Platform) -> None:
    """R6: no task sleeps for it, and its lane does not see it meanwhile."""
    job = retried(platform, failing_with(platform, BUDGET_SECONDS + 60))
    assert job.not_before_ms is not None
    assert platform.lanes.next("shaky", 1) == []


def test_a_retry_that_could_not_end_in_time_is_not_waited_for(platform: Platform) -> None:
    """S2: the job fails at once with `timeout`, which tells its buyer that another call may do."""
    job = retried(platform, failing_with(platform, BUDGET_SECONDS - 5))
    assert (job.status, job.error, job.charged) == (Status.FAILED, ErrorCode.TIMEOUT, False)


def test_a_retry_that_goes_on_from_a_checkpoint_may_use_what_time_is_left(platform: Platform) -> None:
    """R5, R6: its rest may be short, and nobody can tell how short."""
    job = failing_with(platform, 30)
    assert platform.store.checkpoint(job.id, "w", "half", "")
    assert retried(platform, job).status is Status.QUEUED


def test_deaths_failures_and_stops_add_up_to_so_many_starts(platform: Platform) -> None:
    """I9, C8: three attempts and two retries are five starts, however they alternate; stops are free."""
    mixed = service("mixed", charge="upfront", max_attempts=3, max_retries=2)
    platform.registry.add(mixed)
    job = platform.buy("mixed")
    platform.settler.settle(job.id)
    for turn in itertools.cycle(("die", "stop", "fail")):
        platform.lanes.lease(mixed, job.id, turn, lease_seconds=30)
        if (job := end(platform, mixed, platform.job(job), turn)).is_final:
            break
    assert (job.starts, job.interruptions, job.retries) == (5, 2, 2)


def end(platform: Platform, mixed: Service, job: Job, turn: str) -> Job:
    """End an attempt, and let the time pass until the next one may start."""
    match turn:
        case "die":
            platform.outcomes.interrupted(job, mixed)
        case "stop":
            platform.outcomes.hand_back(job)
        case "fail":
            platform.outcomes.retry(job, mixed)
            pass_time(platform.store.client, 10)
            platform.sweep.run()
    return platform.job(job)


def test_a_retried_job_keeps_its_last_progress(platform: Platform) -> None:
    """R4: the last value always, also while the job waits."""
    job = retried(platform, failing_with(platform, BUDGET_SECONDS + 60))
    assert dict(job.progress) == {"done": 7}
