"""9.9: one balance signs for many jobs, none of which is paid: it gets few places, and soon none."""

from typing import Any

import pytest
from stellar_sdk import Keypair

from provider.errors import TooManyOpenJobs, UnpaidEndings
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.jobs.store.metrics import UNPAID_ENDINGS, Figures
from tests.support.jobs import Platform, service
from tests.support.racing import race
from tests.support.timetravel import pass_time

PAYER = Keypair.random()


def buy(platform: Platform, name: str = "after", keypair: Keypair = PAYER, **options: Any) -> Job:
    return platform.buy(name, payment=platform.payment(name, keypair=keypair, **options))


def test_one_balance_gets_few_places(platform: Platform) -> None:
    """Red before: 22 calls signed by one account got 22 places, at the same moment or one by one."""
    answers = race(22, lambda _: buy(platform))
    assert sum(isinstance(answer, Job) for answer in answers) == platform.settings.payer_open_jobs == 10
    assert all(isinstance(answer, Job | TooManyOpenJobs) for answer in answers)
    asked = platform.facilitator.calls("/verify")
    with pytest.raises(TooManyOpenJobs) as refused:
        buy(platform)
    assert refused.value.retry_after_seconds == 10
    assert platform.facilitator.calls("/verify") == asked


def test_other_payers_other_services_and_payment_first_are_not_concerned(platform: Platform) -> None:
    """The limit is of one payer and service, for work that is paid for afterwards."""
    platform.registry.add(service("other"))
    for _ in range(10):
        buy(platform)
    for name, keypair in (("after", Keypair.random()), ("other", PAYER), *[("before", PAYER)] * 11):
        assert buy(platform, name, keypair).status in (Status.QUEUED, Status.PENDING)


def test_a_job_that_ended_makes_room_for_another(platform: Platform) -> None:
    """However it ended: paid, failed, or cancelled before work was done for it."""
    jobs = [buy(platform) for _ in range(10)]
    platform.finish(jobs[0])
    platform.canceller.cancel(jobs[-1].id, by_payer=True)
    assert [buy(platform).status, buy(platform).status] == [Status.QUEUED] * 2
    with pytest.raises(TooManyOpenJobs):
        buy(platform)


def test_the_same_call_again_is_no_other_job(platform: Platform) -> None:
    """J7: a resend heals a crashed claim of a payer that has as many open as it may."""
    payments = [platform.payment(keypair=PAYER) for _ in range(10)]
    jobs = [platform.buy(payment=payment) for payment in payments]
    platform.store.client.delete(keys.job(jobs[4].id))
    assert platform.buy(payment=payments[4]).id == jobs[4].id


def test_a_job_counts_as_open_no_longer_than_its_payment_can_land(platform: Platform) -> None:
    """What a crash left behind locks no payer out: the entries end by themselves."""
    key, until_ms = keys.open_jobs("after", PAYER.public_key), platform.store.now_ms() + 360_000
    platform.store._announce("after")
    platform.store.client.zadd(key, {f"after.{number:032x}": until_ms for number in range(10)})
    with pytest.raises(TooManyOpenJobs):
        buy(platform)
    pass_time(platform.store.client, 361)
    assert buy(platform).status is Status.QUEUED


def spend_elsewhere(platform: Platform) -> None:
    """Have work done that the balance does not pay any more."""
    platform.facilitator.settle = lambda _: (
        200,
        {"success": False, "errorReason": "insufficient_funds", "transaction": ""},
    )
    assert platform.finish(buy(platform)).status is Status.FAILED


def cancel_while_it_runs(platform: Platform) -> None:
    job = buy(platform)
    platform.lanes.lease(platform.registry.get("after"), job.id, "worker", lease_seconds=30)
    platform.canceller.cancel(job.id, by_payer=True)
    platform.outcomes.cancel(platform.job(job))


def cancel_what_is_ready(platform: Platform) -> None:
    job = buy(platform)
    platform.runner.run_next("after")
    assert platform.canceller.cancel(job.id, by_payer=True).status is Status.CANCELLED


ENDINGS = [spend_elsewhere, cancel_while_it_runs, cancel_what_is_ready]


def test_a_payer_that_leaves_work_unpaid_is_refused_for_a_while(platform: Platform) -> None:
    """Red before: any number of handlers ran for one balance. Others are served meanwhile."""
    for leave_unpaid in ENDINGS:
        leave_unpaid(platform)
    with pytest.raises(UnpaidEndings) as refused:
        buy(platform)
    assert 3590 < refused.value.retry_after_seconds <= 3600
    assert buy(platform, keypair=Keypair.random()).status is Status.QUEUED
    assert buy(platform, "before").status is Status.PENDING
    counted = Figures(platform.store).read()[UNPAID_ENDINGS]
    assert counted == {("after", "cancelled"): 2, ("after", "payment_failed"): 1}
    platform.store.client.delete(keys.unpaid("after", PAYER.public_key))
    assert buy(platform).status is Status.QUEUED


def test_what_is_not_the_payers_doing_is_not_held_against_it(platform: Platform) -> None:
    """A handler that fails, an operator's cancel, a facilitator that is out of order."""
    for _ in range(3):
        platform.finish(platform.buy(value={"do": "raise"}, payment=platform.payment(keypair=PAYER)))
        job = buy(platform)
        platform.lanes.lease(platform.registry.get("after"), job.id, "worker", lease_seconds=30)
        platform.canceller.cancel(job.id)
        platform.outcomes.cancel(platform.job(job))
    refusal = {"success": False, "errorReason": "unsupported_network", "transaction": ""}
    platform.facilitator.settle = lambda _: (200, refusal)
    for _ in range(3):
        assert platform.finish(buy(platform)).status is Status.FAILED
    assert buy(platform).status is Status.QUEUED


@pytest.mark.parametrize(("transaction", "counted"), [("cd" * 32, 1), ("", 0)])
def test_a_payment_that_the_chain_shows_as_not_made_counts_if_it_was_submitted(
    platform: Platform, transaction: str, counted: int
) -> None:
    """It failed on chain, as without money; what was never sent is the facilitator's doing."""
    unclear = {"success": False, "errorReason": "settlement_pending", "transaction": transaction}
    platform.facilitator.settle = lambda _: (200, unclear)
    job = platform.finish(buy(platform))
    assert job.status is Status.PAYMENT_UNCERTAIN
    assert platform.settler.record_unpaid(job.id, "payment_not_on_chain")
    left = platform.store.client.get(keys.unpaid("after", PAYER.public_key))
    assert int(left or 0) == counted  # type: ignore[arg-type]
