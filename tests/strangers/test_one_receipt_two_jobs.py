"""A facilitator sells one transaction as the receipt of several jobs (issue 9.6)."""

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store.claims import ClaimKeys
from tests.support.facilitator import Answer
from tests.support.jobs import NETWORK, Platform


def one_for_all(_: object) -> Answer:
    return 200, {"success": True, "transaction": "ab" * 32, "network": NETWORK}


def note(job: Job) -> tuple[str | None, str | None]:
    return job.settlement.get("reason"), job.settlement.get("transaction")


def test_a_receipt_is_of_one_job(platform: Platform) -> None:
    """Red before: each job succeeded and gave its output away; only the audit saw it, with an RPC."""
    platform.facilitator.settle = one_for_all
    first, second = (platform.finish(platform.buy()) for _ in range(2))
    assert (first.status, second.status) == (Status.SUCCEEDED, Status.PAYMENT_UNCERTAIN)
    assert first.receipt is not None
    assert note(second) == ("transaction_of_another_job", first.receipt.transaction)
    assert platform.wakeups.settled.count(second.id) <= 1


def test_upfront_work_does_not_begin_for_it(platform: Platform) -> None:
    """Red before: it ran."""
    platform.facilitator.settle = one_for_all
    paid, unpaid = (platform.finish(platform.buy("before")) for _ in range(2))
    assert (paid.status, unpaid.status) == (Status.SUCCEEDED, Status.PAYMENT_UNCERTAIN)
    assert unpaid.starts == 0


def test_an_answer_that_is_recorded_twice_is_of_its_own_job(platform: Platform) -> None:
    """After a crash between the two writes."""
    job = platform.buy("before")
    platform.facilitator.settle = one_for_all
    assert ClaimKeys(platform.store).bind_receipt("ab" * 32, job.id, seconds=60)
    assert platform.finish(job).status is Status.SUCCEEDED
