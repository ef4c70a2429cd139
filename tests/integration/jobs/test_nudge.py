"""An operator's `retry`: do now what a job waits for."""

from collections.abc import Callable

import pytest

from provider.errors import JobNotFound, NothingToRetry
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.recover.retry_now import Nudge
from tests.support.jobs import Platform, service
from tests.support.standing import failed, produced, running, settling, succeeded, uncertain


@pytest.fixture
def nudge(platform: Platform) -> Nudge:
    """Nudge without an RPC."""
    return Nudge(platform.store, platform.registry, platform.wakeups, None)


def test_a_pause_is_ended(platform: Platform, nudge: Nudge) -> None:
    """R6: the job stands in its lane again, at its old place, and its lane is woken."""
    platform.registry.add(service("shaky", max_retries=2))
    job = platform.buy("shaky", {"do": "transient"})
    behind = platform.buy("shaky")
    platform.runner.run_next("shaky")
    assert platform.lanes.next("shaky", 2) == [behind.id]
    platform.wakeups.handled.clear()
    assert nudge.retry(job.id) == "its pause was ended, and its lane woken"
    assert platform.lanes.next("shaky", 2) == [job.id, behind.id]
    assert (platform.job(job).not_before_ms, platform.wakeups.handled) == (None, [job.id])


def test_a_lane_is_woken(platform: Platform, nudge: Nudge) -> None:
    """Its wake-up may be lost, and the sweep away."""
    job = platform.buy()
    platform.wakeups.handled.clear()
    assert nudge.retry(job.id) == "its lane was woken"
    assert (platform.wakeups.handled, platform.job(job)) == ([job.id], job)


@pytest.mark.parametrize("stand", [lambda platform: platform.buy("before"), produced])
def test_a_settlement_is_asked_for_once_more(
    platform: Platform, nudge: Nudge, stand: Callable[[Platform], Job]
) -> None:
    """S4: the settler's compare makes a doubled message harmless."""
    job = stand(platform)
    platform.wakeups.settled.clear()
    assert "settlement" in nudge.retry(job.id)
    assert platform.wakeups.settled == [job.id]


def failed_and_paid(platform: Platform) -> Job:
    return failed(platform, "before")


def cancelled(platform: Platform) -> Job:
    return platform.canceller.cancel(platform.buy().id)


def stranded(platform: Platform) -> Job:
    job = platform.buy()
    platform.registry._declared = []
    return job


@pytest.mark.parametrize(
    ("stand", "why"),
    [
        (running, "A worker runs it"),
        (settling, "being settled"),
        (succeeded, "its output is there"),
        (failed, "failed, and that is final. The buyer can make a new call"),
        (failed_and_paid, "It was charged: pay the buyer back"),
        (cancelled, "cancelled, and that is final"),
        (uncertain, "set STELLAR_RPC_URLS"),
        (stranded, "No process offers 'after'"),
    ],
)
def test_what_cannot_be_done_is_explained_and_left_alone(
    platform: Platform, nudge: Nudge, stand: Callable[[Platform], Job], why: str
) -> None:
    """J4: a final status is never left."""
    job = platform.job(stand(platform))
    with pytest.raises(NothingToRetry, match=why):
        nudge.retry(job.id)
    assert platform.job(job) == job
    assert platform.job(job).status is job.status is not Status.PENDING


def test_an_unknown_job_is_told(nudge: Nudge) -> None:
    with pytest.raises(JobNotFound):
        nudge.retry("after." + "0" * 32)
