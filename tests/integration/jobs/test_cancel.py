"""Cancelling a job, wherever it stands (R7)."""

import json

import pytest

from provider.errors import (
    CancelRefused,
    ForfeitRequired,
    JobFinished,
    JobNotFound,
    PaymentPending,
    PaymentUncertain,
    SettlementBegun,
)
from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.model.wire import dump_job
from provider.jobs.store import keys
from tests.support.jobs import Platform
from tests.support.standing import failed, produced, queued, running, settling, succeeded, uncertain
from tests.support.timetravel import pass_time

# What waits is cancelled at once


def test_a_queued_job_is_cancelled_at_once(platform: Platform) -> None:
    """S1, Q6: nothing is settled, its place is free, and its lane is woken."""
    job = queued(platform)
    platform.wakeups.handled.clear()
    cancelled = platform.canceller.cancel(job.id)
    assert (cancelled.status, cancelled.error, cancelled.charged) == (
        Status.CANCELLED,
        ErrorCode.CANCELLED,
        False,
    )
    assert (platform.lanes.load("after"), platform.wakeups.handled) == ((0, 0), [job.id])
    assert platform.finish(job) == cancelled
    assert platform.facilitator.calls("/settle") == 0


def test_a_job_in_its_back_off_pause_is_cancelled_and_not_tried_again(platform: Platform) -> None:
    """R6: it stands in no lane; the sweep must not put it there."""
    job = queued(platform)
    platform.store.move(job, Status.RUNNING)
    platform.store.move(platform.job(job), Status.QUEUED, {"not_before_ms": platform.store.now_ms()}, look=0)
    platform.canceller.cancel(job.id)
    platform.sweep.run()
    assert (platform.job(job).status, platform.lanes.load("after")) == (Status.CANCELLED, (0, 0))


def test_an_output_that_waits_for_its_settlement_is_dropped_and_not_charged(platform: Platform) -> None:
    """S1, J14: settling has not begun, so nobody pays and nobody reads."""
    job = produced(platform)
    cancelled = platform.canceller.cancel(job.id)
    platform.settler.settle(job.id)
    assert (cancelled.status, platform.job(job)) == (Status.CANCELLED, cancelled)
    assert (cancelled.output, platform.facilitator.calls("/settle")) == (None, 0)


def test_a_paid_job_is_cancelled_only_by_who_forfeits_the_payment(platform: Platform) -> None:
    """R7: and the answer says that it was charged."""
    job = queued(platform, "before")
    with pytest.raises(ForfeitRequired):
        platform.canceller.cancel(job.id)
    assert platform.job(job) == job
    cancelled = platform.canceller.cancel(job.id, forfeit=True)
    assert dump_job(cancelled)["error"] == {
        "code": "cancelled",
        "message": "The job was cancelled.",
        "charged": True,
        "retryable": False,
    }
    assert len(dump_job(cancelled)["payment"]["transaction"]) == 64


@pytest.mark.parametrize("name", ["after", "before"])
def test_cancelling_twice_is_harmless(platform: Platform, name: str) -> None:
    """R7: the same job again, also without a second word about the payment."""
    job = queued(platform, name)
    first = platform.canceller.cancel(job.id, forfeit=True)
    assert platform.canceller.cancel(job.id) == first


# What runs is stopped


def test_a_running_job_is_asked_to_stop_and_keeps_its_slot_until_then(platform: Platform) -> None:
    """R7, I8: its handler still works."""
    job = running(platform)
    asked = platform.canceller.cancel(job.id)
    assert (asked.status, asked.cancel, platform.lanes.load("after")) == (Status.RUNNING, True, (0, 1))
    assert platform.canceller.cancel(job.id) == asked
    assert platform.lanes.look(job.id, "worker") is True
    assert platform.lanes.renew(job.id, "worker", lease_seconds=9) == (asked.version + 1, True)


def test_a_paid_job_that_runs_is_stopped_only_by_who_forfeits_the_payment(platform: Platform) -> None:
    """R7."""
    job = running(platform, "before")
    with pytest.raises(ForfeitRequired):
        platform.canceller.cancel(job.id)
    platform.canceller.cancel(job.id, forfeit=True)
    platform.outcomes.cancel(platform.job(job))
    assert (platform.job(job).status, platform.job(job).charged) == (Status.CANCELLED, True)


@pytest.mark.parametrize("name", ["after", "before"])
@pytest.mark.parametrize("end", ["output", "fail", "retry", "interrupted", "hand_back"])
def test_a_job_that_is_to_be_stopped_ends_in_no_other_way(platform: Platform, name: str, end: str) -> None:
    """R7, S1: what its worker made of it meanwhile is dropped; who did not see the cancel is refused."""
    job, service = running(platform, name), platform.registry.get(name)
    platform.canceller.cancel(job.id, forfeit=True)
    outcomes = platform.outcomes
    ends = {
        "output": lambda job: outcomes.output(job, "{}", {}),
        "fail": lambda job: outcomes.fail(job, ErrorCode.TIMEOUT),
        "retry": lambda job: outcomes.retry(job, service),
        "interrupted": lambda job: outcomes.interrupted(job, service),
        "hand_back": outcomes.hand_back,
    }
    assert not ends[end](job)
    assert ends[end](platform.job(job))
    ended = platform.job(job)
    assert (ended.status, ended.error, ended.output) == (Status.CANCELLED, ErrorCode.CANCELLED, None)
    assert (ended.cancel, platform.lanes.load(name)) == (False, (0, 0))


def test_a_job_whose_worker_died_is_cancelled_by_the_sweep(platform: Platform) -> None:
    """R7: and not started again."""
    job = running(platform)
    platform.canceller.cancel(job.id)
    pass_time(platform.store.client, 31)
    platform.sweep.run()
    assert (platform.job(job).status, platform.lanes.load("after")) == (Status.CANCELLED, (0, 0))


def test_whoever_lost_the_lease_is_not_asked(platform: Platform) -> None:
    """The attempt that was read is over: the one that runs now is another question."""
    job = running(platform)
    platform.outcomes.interrupted(job, None)
    assert platform.store.ask_cancel(job) is None
    assert not platform.job(job).cancel
    assert platform.lanes.look(job.id, "worker") is None


# Many together


def test_a_job_that_starts_meanwhile_is_none_of_those_that_wait(platform: Platform) -> None:
    """R7: it was listed as queued, and runs when its turn comes; another one is gone by then."""
    gone, starts, last = (platform.buy() for _ in range(3))
    service = platform.registry.get("after")

    def start_another(name: str) -> None:
        platform.store.scripts.after = lambda name: None
        platform.lanes.lease(service, starts.id, "worker", lease_seconds=30)
        platform.store.client.delete(keys.job(gone.id))

    platform.store.scripts.after = start_another
    counts = platform.canceller.cancel_all("after", [Status.QUEUED])
    assert counts == {"cancelled": 1, "left": 2}
    assert platform.job(last).status is Status.CANCELLED
    assert (platform.job(starts).status, platform.job(starts).cancel) == (Status.RUNNING, False)


# What cannot be cancelled


def pending(platform: Platform) -> Job:
    return platform.buy("before")


@pytest.mark.parametrize(
    ("stand", "error"),
    [
        (pending, PaymentPending),
        (settling, SettlementBegun),
        (uncertain, PaymentUncertain),
        (succeeded, JobFinished),
        (failed, JobFinished),
    ],
)
def test_a_job_that_is_paid_for_or_over_is_left_alone(
    platform: Platform, stand: object, error: type[CancelRefused]
) -> None:
    """R7: not once settling has begun; each refusal says why, and where the job stands."""
    assert callable(stand)
    job = platform.job(stand(platform))
    with pytest.raises(error) as refused:
        platform.canceller.cancel(job.id, forfeit=True)
    assert refused.value.fields == {"jobStatus": job.status.value}
    assert platform.job(job) == job


def test_a_settlement_that_sent_nothing_leaves_the_job_to_be_cancelled(platform: Platform) -> None:
    """S4: the right was given back, so settling has not begun."""
    job = settling(platform)
    platform.store.withdraw_settlement(job.id, "settler", look_seconds=1)
    assert platform.canceller.cancel(job.id).status is Status.CANCELLED


def test_an_unknown_job_cannot_be_cancelled(platform: Platform) -> None:
    """Nor what is no id."""
    for job_id in ("after." + "0" * 32, "nonsense"):
        with pytest.raises(JobNotFound):
            platform.canceller.cancel(job_id)


def test_a_cancel_is_told_to_who_waits(platform: Platform) -> None:
    """Event streams and held answers read the record after each message."""
    job, pubsub = running(platform), platform.store.client.pubsub()  # type: ignore[no-untyped-call]
    pubsub.psubscribe("*")
    platform.canceller.cancel(job.id)
    told = [pubsub.get_message(timeout=1) for _ in range(2)]
    assert json.dumps(told[1]["data"]) == '"cancel"'
