"""Settling: three outcomes from each status, and answers that come late (S4, §8)."""

import threading
from typing import Any

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.store import keys
from provider.payments.settlement import SettleKind, SettleOutcome
from tests.support.jobs import Platform
from tests.support.racing import race
from tests.support.timetravel import pass_time

HASH = "ab" * 32
REFUSED = {"success": False, "transaction": "", "errorReason": "insufficient_funds"}
PENDING = {"success": False, "transaction": HASH, "errorReason": "settlement_pending"}
AFTERWARDS = {
    ("after", "settled"): (Status.SUCCEEDED, True),
    ("after", "refused"): (Status.FAILED, False),
    ("after", "uncertain"): (Status.PAYMENT_UNCERTAIN, False),
    ("before", "settled"): (Status.QUEUED, True),
    ("before", "refused"): (Status.FAILED, False),
    ("before", "uncertain"): (Status.PAYMENT_UNCERTAIN, False),
}


def due_to_settle(platform: Platform, name: str) -> Job:
    """Bring a job to where its payment is settled: with its output, or before the work."""
    job = platform.buy(name)
    if name == "after":
        platform.runner.run_next(name)
    return platform.job(job)


def answers(platform: Platform, outcome: str) -> None:
    """Let the facilitator answer so."""
    if outcome != "settled":
        body = {"refused": REFUSED, "uncertain": PENDING}[outcome]
        platform.facilitator.settle = lambda asked: (200, body)


@pytest.mark.parametrize(("name", "outcome"), list(AFTERWARDS))
def test_each_answer_is_recorded(platform: Platform, name: str, outcome: str) -> None:
    """§8, for both policies."""
    job = due_to_settle(platform, name)
    answers(platform, outcome)
    platform.settler.settle(job.id)
    done = platform.job(job)
    assert (done.status, done.charged) == AFTERWARDS[name, outcome]
    assert (done.receipt is not None) == (outcome == "settled")


def test_a_lane_is_woken_for_each_job_that_was_paid(platform: Platform) -> None:
    """J4, pending to queued: it need not wait for a sweep; nobody is woken for what is not to run."""
    answers(platform, "uncertain")
    job = due_to_settle(platform, "before")
    platform.settler.settle(job.id)
    assert platform.wakeups.handled == []
    assert platform.settler.record_paid(job.id, HASH, 1001)
    assert platform.wakeups.handled == [job.id]


def test_a_payment_whose_output_is_gone_is_no_success(platform: Platform) -> None:
    """§10, 6: it stays uncertain, with its transaction for whoever looks, and is not called unpaid."""
    job = due_to_settle(platform, "after")
    answers(platform, "uncertain")
    platform.settler.settle(job.id)
    platform.store.client.hdel(keys.job(job.id), "output")
    assert not platform.settler.record_paid(job.id, HASH, 1001)
    found = platform.job(job)
    assert (found.status, found.settlement["transaction"]) == (Status.PAYMENT_UNCERTAIN, HASH)


@pytest.mark.parametrize("then", ["paid", "lost"])
def test_an_output_lost_while_its_payment_is_settled_leaves_the_job_uncertain(
    platform: Platform, then: str
) -> None:
    """Issue: no path reports success without an output, the usual one included."""
    job = due_to_settle(platform, "after")
    answer = platform.facilitator.settle

    def lose(asked: Any) -> Any:
        platform.store.client.hdel(keys.job(job.id), "output")
        status, body = answer(asked)
        return (status, {**body, "transaction": HASH}) if then == "paid" else (200, PENDING)

    platform.facilitator.settle = lose
    platform.settler.settle(job.id)
    found = platform.job(job)
    assert (found.status, found.settlement["transaction"]) == (Status.PAYMENT_UNCERTAIN, HASH)


@pytest.mark.parametrize(("name", "outcome"), list(AFTERWARDS))
def test_an_answer_that_comes_after_the_sweep_gave_up_counts(
    platform: Platform, name: str, outcome: str
) -> None:
    """§8: past its deadline the job is uncertain; what still comes is recorded from there."""
    job = due_to_settle(platform, name)
    answers(platform, outcome)
    answer = platform.facilitator.settle
    platform.facilitator.settle = lambda asked: (give_up(platform), answer(asked))[1]
    platform.settler.settle(job.id)
    done = platform.job(job)
    assert (done.status, done.charged) == AFTERWARDS[name, outcome]


def give_up(platform: Platform) -> None:
    """Let the sweep come by when the settlement has been silent for too long."""
    pass_time(platform.store.client, 151)
    assert platform.sweep.run().actions == {"give_up_settlement": 1}


def test_an_uncertain_settlement_keeps_the_hash_it_was_told(platform: Platform) -> None:
    """§8: the chain is asked for it first."""
    answers(platform, "uncertain")
    job = due_to_settle(platform, "before")
    platform.settler.settle(job.id)
    assert platform.job(job).settlement == {"reason": "settlement_pending", "transaction": HASH}


def test_an_uncertain_output_stays_for_the_day_it_is_paid(platform: Platform) -> None:
    """§10: never lose a paid result."""
    answers(platform, "uncertain")
    job = due_to_settle(platform, "after")
    platform.settler.settle(job.id)
    assert platform.job(job).output is not None
    assert platform.settler.record_paid(job.id, HASH)
    assert platform.job(job).status is Status.SUCCEEDED


def test_an_output_that_was_not_paid_is_deleted(platform: Platform) -> None:
    """J14: nobody will ever be allowed to read it."""
    answers(platform, "refused")
    job = due_to_settle(platform, "after")
    platform.settler.settle(job.id)
    done = platform.job(job)
    assert (done.output, done.error) == (None, ErrorCode.PAYMENT_FAILED)


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_second_message_calls_nobody(platform: Platform, name: str) -> None:
    """S4: exactly one attempt a claim, whatever becomes of it."""
    for outcome in ("settled", "refused", "uncertain"):
        job = due_to_settle(platform, name)
        answers(platform, outcome)
        calls = platform.facilitator.calls("/settle")
        for _ in range(3):
            platform.settler.settle(job.id)
        assert platform.facilitator.calls("/settle") == calls + 1


def test_many_messages_at_once_call_once(platform: Platform) -> None:
    """S4 under a race of whole settlers."""
    for _ in range(10):
        job = due_to_settle(platform, "before")
        calls = platform.facilitator.calls("/settle")
        race(8, lambda _, job=job: platform.settler.settle(job.id))  # type: ignore[misc]
        assert platform.facilitator.calls("/settle") == calls + 1


def test_a_job_is_not_settled_before_its_output_is_there(platform: Platform) -> None:
    """S1: a forged message at the wrong time is a look at a job."""
    job = platform.buy("after")
    platform.settler.settle(job.id)
    platform.lanes.lease(platform.registry.get("after"), job.id, "w1", lease_seconds=30)
    platform.settler.settle(job.id)
    platform.settler.settle("nobody." + "0" * 32)
    assert platform.facilitator.calls("/settle") == 0


def test_a_refused_connection_is_tried_again_by_the_sweep(platform: Platform) -> None:
    """S4: provably nothing was sent: the right to settle goes back, and 15 s later it is used."""
    job, url = due_to_settle(platform, "before"), platform.client.url
    platform.client.url = "http://127.0.0.1:9"
    platform.settler.settle(job.id)
    assert (platform.job(job).status, platform.job(job).is_settling) == (Status.PENDING, False)
    platform.client.url = url
    platform.wakeups.settled.clear()
    pass_time(platform.store.client, 16)
    platform.sweep.run()
    assert platform.wakeups.settled == [job.id]
    platform.settler.settle(job.id)
    assert platform.job(job).status is Status.QUEUED


def test_what_could_never_be_sent_ends_with_its_payment(platform: Platform) -> None:
    """§9: pending, not settling, payment expired: failed, uncharged."""
    job = due_to_settle(platform, "before")
    platform.client.url = "http://127.0.0.1:9"
    platform.settler.settle(job.id)
    platform.clock.latest_ledger += 61
    pass_time(platform.store.client, 16)
    platform.sweep.run()
    done = platform.job(job)
    assert (done.status, done.error, done.charged) == (Status.FAILED, ErrorCode.TIMEOUT, False)


def running_and_paid(platform: Platform) -> Job:
    job = due_to_settle(platform, "before")
    platform.settler.settle(job.id)
    platform.lanes.lease(platform.registry.get("before"), job.id, "w1", lease_seconds=30)
    return platform.job(job)


@pytest.mark.parametrize("outcome", ["paid", "unpaid", "uncertain"])
def test_the_first_decision_stands_while_a_paid_job_runs(platform: Platform, outcome: str) -> None:
    """J4: a doubled answer neither requeues, fails nor doubts a job that was paid."""
    job = running_and_paid(platform)
    late: dict[str, Any] = {
        "paid": lambda: platform.settler.record_paid(job.id, HASH),
        "unpaid": lambda: platform.settler.record_unpaid(job.id, "insufficient_funds"),
        "uncertain": lambda: platform.settler.record_uncertain(job.id, SettleOutcome(SettleKind.UNCERTAIN)),
    }
    assert late[outcome]() is False
    assert platform.job(job) == job


@pytest.mark.parametrize("first", ["record_paid", "record_unpaid"])
def test_of_many_late_answers_one_decides(platform: Platform, first: str) -> None:
    """J4: the first decision stands, also under a race of opposite answers."""
    for _ in range(20):
        job = due_to_settle(platform, "before")
        platform.store.begin_settlement(job, "s", give_up_seconds=150)
        names = [first, *("record_paid", "record_unpaid") * 4]
        told = race(len(names), lambda n, j=job, ns=names: getattr(platform.settler, ns[n])(j.id, HASH))  # type: ignore[misc]
        assert told.count(True) == 1
        winner = names[told.index(True)]
        assert platform.job(job).charged == (winner == "record_paid")


def test_an_answer_waits_for_redis(platform: Platform) -> None:
    """§8: it comes only once; a Redis that is away for a moment does not lose it."""
    job = due_to_settle(platform, "before")
    client: Any = platform.store.client

    def paused(asked: dict[str, Any]) -> tuple[int, Any]:
        client.config_set("requirepass", "away")
        client.connection_pool.disconnect()
        threading.Timer(0.6, lambda: opened(platform)).start()
        return 200, {"success": True, "transaction": HASH, "network": "stellar:testnet"}

    platform.facilitator.settle = paused
    platform.settler.settle(job.id)
    assert platform.job(job).status is Status.QUEUED


def opened(platform: Platform) -> None:
    """Let everybody in again."""
    from redis import Redis

    with Redis.from_url(platform.redis_url, password="away") as client:
        client.config_set("requirepass", "")
