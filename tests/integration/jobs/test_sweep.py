"""The recovery sweep, a test for each row of standard §9."""

from collections.abc import Callable
from typing import Any

import pytest

from provider.jobs.model.job import Job, Lease
from provider.jobs.model.job_id import place_for, split
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.store import keys
from tests.support.jobs import Platform, service
from tests.support.timetravel import pass_time

EXPIRED = 61
"""Ledgers until a payment of `Platform.payment` has expired."""


def swept(platform: Platform, seconds: float = 0, ledgers: int = 0) -> dict[str, int]:
    """Let time pass, sweep, and give what was done."""
    pass_time(platform.store.client, seconds)
    platform.clock.latest_ledger += ledgers
    return dict(platform.sweep.run().actions)


def leased(platform: Platform, name: str = "after") -> Job:
    job = platform.buy(name)
    platform.settler.settle(job.id)
    lease = platform.lanes.lease(platform.registry.get(name), job.id, "w1", lease_seconds=30)
    assert isinstance(lease, Lease)
    return lease.job


def with_output(platform: Platform) -> Job:
    job = platform.buy()
    platform.runner.run_next("after")
    return platform.job(job)


def ended(platform: Platform, job: Job) -> tuple[Status, ErrorCode | None, bool]:
    done = platform.job(job)
    return done.status, done.error, done.charged


def test_nothing_is_due_right_after_a_claim(platform: Platform) -> None:
    """The sweep looks at what is late, not at what is new."""
    platform.buy("after")
    platform.buy("before")
    assert swept(platform) == {}


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_silent_settlement_becomes_uncertain(platform: Platform, name: str) -> None:
    """Row 1: settling for longer than settle time-out + 60 s."""
    job = with_output(platform) if name == "after" else platform.buy("before")
    platform.store.begin_settlement(job, "gone", give_up_seconds=150)
    assert swept(platform, 149) == {}
    assert platform.job(job).is_settling
    assert swept(platform, 2) == {"give_up_settlement": 1}
    assert ended(platform, job) == (Status.PAYMENT_UNCERTAIN, None, False)


def test_a_settling_job_is_not_failed_when_its_payment_expires(platform: Platform) -> None:
    """Row 2 does not apply while settling: the money may be on its way."""
    job = with_output(platform)
    platform.store.begin_settlement(job, "gone", give_up_seconds=150)
    assert swept(platform, 151, EXPIRED) == {"give_up_settlement": 1}
    assert platform.job(job).status is Status.PAYMENT_UNCERTAIN


def test_a_queued_job_whose_payment_expired_fails_uncharged(platform: Platform) -> None:
    """Row 2, from queued."""
    job = platform.buy()
    assert swept(platform, 291, EXPIRED) == {"expire": 1}
    assert ended(platform, job) == (Status.FAILED, ErrorCode.TIMEOUT, False)
    assert platform.lanes.load("after") == (0, 0)


def test_a_queued_job_past_its_deadline_fails_though_the_chain_lags(platform: Platform) -> None:
    """S2: it cannot be settled in time any more."""
    job = platform.buy()
    assert swept(platform, 284) == {}
    assert swept(platform, 2) == {"expire": 1}
    assert ended(platform, job) == (Status.FAILED, ErrorCode.TIMEOUT, False)


def test_a_stored_output_whose_payment_expired_fails_uncharged(platform: Platform) -> None:
    """Row 2, from running."""
    job = with_output(platform)
    assert swept(platform, 16, EXPIRED) == {"expire": 1}
    assert ended(platform, job) == (Status.FAILED, ErrorCode.TIMEOUT, False)
    assert platform.job(job).output is None


def test_a_payment_expires_by_wall_clock_when_the_chain_is_silent(platform: Platform) -> None:
    """Row 2: createdAt + maxTimeoutSeconds + 60 s, whether or not the clock answers."""
    job = with_output(platform)
    platform.clock.read = lambda: None  # type: ignore[method-assign]
    assert swept(platform, 359) == {"settle_again": 1}
    assert swept(platform, 16) == {"expire": 1}
    assert ended(platform, job) == (Status.FAILED, ErrorCode.TIMEOUT, False)


def start(platform: Platform) -> None:
    platform.runner.run_next("after")


def sweep(platform: Platform) -> None:
    platform.sweep.run()


@pytest.mark.parametrize("act", [start, sweep])
def test_a_job_that_is_too_late_never_shows_running(
    platform: Platform, act: Callable[[Platform], None]
) -> None:
    """J4: queued to failed is one move. Red while it went by way of running, which followers were shown."""
    job = platform.buy()
    pass_time(platform.store.client, 291)
    words: list[str] = []
    with platform.store.client.pubsub() as channel:
        channel.subscribe(keys.job(job.id))
        channel.get_message(timeout=1)
        act(platform)
        while (message := channel.get_message(timeout=0.2)) is not None:
            words.append(message["data"])
    assert words == ["failed"]
    assert ended(platform, job) == (Status.FAILED, ErrorCode.TIMEOUT, False)
    assert platform.job(job).started_at_ms is None


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_job_whose_worker_died_is_queued_again(platform: Platform, name: str) -> None:
    """Row 3; an upfront job is paid, and stays so."""
    job = leased(platform, name)
    assert swept(platform, 29) == {}
    assert swept(platform, 2) == {"requeue": 1}
    again = platform.job(job)
    assert (again.status, again.owner, again.interruptions) == (Status.QUEUED, None, 1)
    assert again.charged == (name == "before")
    assert platform.lanes.load(name) == (1, 0)


def test_a_paid_job_outlives_its_payments_expiry(platform: Platform) -> None:
    """S3: upfront is paid before it waits; only on-success work must end in time."""
    job = leased(platform, "before")
    assert swept(platform, 3600, EXPIRED) == {"requeue": 1}
    platform.store.client.zadd(keys.due("before"), {job.id: 1})
    assert swept(platform) == {"wait": 1}
    assert platform.job(job).status is Status.QUEUED


def test_the_last_start_that_dies_fails_the_job(platform: Platform) -> None:
    """Row 3, S3: MAX_ATTEMPTS is 3."""
    job = leased(platform, "before")
    for _ in range(2):
        swept(platform, 31)
        platform.lanes.lease(platform.registry.get("before"), job.id, "w1", lease_seconds=30)
    assert swept(platform, 31) == {"requeue": 1}
    assert ended(platform, job) == (Status.FAILED, ErrorCode.SERVICE_FAILED, True)


def test_a_pending_job_whose_payment_expired_fails_uncharged(platform: Platform) -> None:
    """Row 4."""
    job = platform.buy("before")
    assert swept(platform, 16, EXPIRED) == {"expire": 1}
    assert ended(platform, job) == (Status.FAILED, ErrorCode.TIMEOUT, False)


def test_a_lost_wake_up_is_sent_again(platform: Platform) -> None:
    """Row 5: queued, with a free slot."""
    job = platform.buy()
    platform.wakeups.handled.clear()
    assert platform.sweep.run().woken == 1
    assert platform.wakeups.handled == [job.id]


def test_wake_ups_are_sent_for_free_slots_only(platform: Platform) -> None:
    """Row 5: two slots, one of them busy, five jobs waiting: one message."""
    leased(platform)
    waiting = [platform.buy() for _ in range(5)]
    platform.wakeups.handled.clear()
    platform.sweep.run()
    assert platform.wakeups.handled == [waiting[0].id]


def test_jobs_whose_workers_died_get_one_wake_up_a_free_slot(platform: Platform) -> None:
    """Row 5: the lane is woken when all its jobs were looked at, not once more for each of them."""
    lost = [leased(platform) for _ in range(2)]
    platform.wakeups.handled.clear()
    assert swept(platform, 31) == {"requeue": 2}
    assert platform.wakeups.handled == [job.id for job in lost]


@pytest.mark.parametrize("get_ready", [with_output, lambda platform: platform.buy("before")])
def test_a_lost_settle_message_is_sent_again(
    platform: Platform, get_ready: Callable[[Platform], Job]
) -> None:
    """Row 5: output stored and not settling, pending and not settling."""
    job = get_ready(platform)
    platform.wakeups.settled.clear()
    assert swept(platform, 16) == {"settle_again": 1}
    assert platform.wakeups.settled == [job.id]
    assert swept(platform) == {}


def test_a_delayed_retry_enters_its_lane_when_its_time_has_come(platform: Platform) -> None:
    """R6: `not_before` is in the record; the sweep lets the job in and wakes the lane."""
    platform.registry.add(service("shaky", max_retries=1))
    job = platform.buy("shaky", {"do": "transient"})
    platform.runner.run_next("shaky")
    platform.wakeups.handled.clear()
    assert swept(platform, 3) == {"ready": 1}
    assert platform.wakeups.handled == [job.id]
    assert platform.job(job).not_before_ms is None


def test_expired_reservations_are_removed(platform: Platform) -> None:
    """Row 6: a place left by a crash during verification."""
    platform.buy()
    place = place_for("after." + "0" * 32, "ab" * 16)
    platform.lanes.reserve(platform.registry.get("after"), place, seconds=30, most_wait_seconds=99)
    assert swept(platform, 89) == {}
    assert platform.store.client.zcard(keys.reserved("after")) == 1
    assert swept(platform, 2) == {}
    assert platform.store.client.zcard(keys.reserved("after")) == 0


def test_a_finished_job_is_deleted_after_its_retention(platform: Platform) -> None:
    """Row 6, J15: with everything it left; seven days."""
    job = platform.finish(platform.buy())
    assert swept(platform, 7 * 86400 - 10, EXPIRED) == {}
    assert swept(platform, 20) == {"forget": 1}
    left: list[Any] = platform.store.client.keys(f"*{split(job.id)[1]}*")  # type: ignore[assignment]
    assert left == []
    lists = [keys.index("after"), keys.due("after"), keys.lane("after")]
    assert [platform.store.client.zcard(key) for key in lists] == [0, 0, 0]


def test_an_uncertain_job_is_never_deleted(platform: Platform) -> None:
    """J15."""
    job = platform.buy("before")
    platform.store.begin_settlement(job, "gone", give_up_seconds=150)
    swept(platform, 151)
    assert swept(platform, 30 * 86400, 10**6) == {}
    assert platform.job(job).status is Status.PAYMENT_UNCERTAIN


def test_stranded_jobs_are_counted_and_wait(platform: Platform) -> None:
    """Q7: their service is not offered now."""
    platform.registry.add(service("gone", charge="upfront"))
    job = platform.buy("gone")
    platform.settler.settle(job.id)
    without = Platform(platform.redis_url, platform.facilitator, seller=platform.seller)
    assert without.sweep.run().stranded == {"gone": 1}
    assert (platform.job(job).status, without.wakeups.handled) == (Status.QUEUED, [])
    assert platform.sweep.run().woken == 1
