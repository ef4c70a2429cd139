"""Workers die while somebody else works for them: the facilitator, or a handler."""

import pytest

from provider.jobs.model.status import Status
from tests.chaos.stage import Stage
from tests.support.invariants import check_invariants
from tests.support.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.mark.parametrize("service", ["after", "before"])
def test_an_answer_lost_with_its_worker_after_the_transfer_landed(stage: Stage, service: str) -> None:
    """S4: uncertain, then decided from the chain; never a second attempt, never a paid job called unpaid."""
    faults = stage.net.chain.faults
    faults.add("rpc_down", method="getTransaction", mode="http500")  # The facilitator waits, and cannot see.
    job_id = stage.buy(service, {})
    with stage.watched(job_id):
        assert wait_until(lambda: stage.charges(stage.store.get(job_id)) == 1, 20)
        assert stage.store.get(job_id).is_settling
        stage.stop("settle")
        faults.clear()
        stage.start("settle")
        job = stage.recover(job_id)
    assert (job.status, stage.charges(job)) == (Status.SUCCEEDED, 1)
    check_invariants(stage.evidence())


@pytest.mark.parametrize("service", ["after", "before"])
def test_a_call_that_died_before_its_transfer_was_sent(stage: Stage, service: str) -> None:
    """§10: not paid is final once the authorisation has expired; the buyer is told `charged: false`."""
    faults = stage.net.chain.faults
    faults.add("drop_send_request", count=None)  # The facilitator tries, and nothing arrives.
    job_id = stage.buy(service, {})
    assert wait_until(lambda: stage.store.get(job_id).is_settling, 20)
    stage.stop("settle")
    faults.clear()
    stage.start("settle")
    job = stage.recover(job_id)
    assert job.is_final
    assert stage.charges(job) == job.charged
    check_invariants(stage.evidence())


def test_workers_that_die_again_and_again_use_the_starts_up(stage: Stage) -> None:
    """I9: three deaths of the handle worker fail a paid job, whose handler was started three times."""
    job_id = stage.buy("before", {"seconds": 30})
    for number in range(1, 4):
        assert wait_until(lambda n=number: _starts(stage, job_id) == n, 20)  # type: ignore[misc]
        stage.stop("handle")
        stage.start("handle")
        _requeued(stage, job_id)
    job = stage.recover(job_id)
    assert (job.status, job.charged, _starts(stage, job_id)) == (Status.FAILED, True, 3)
    check_invariants(stage.evidence())


def test_a_worker_told_to_stop_hands_its_job_back(stage: Stage) -> None:
    """C8: at once, and the start does not count; the next worker takes it without waiting for a lease."""
    job_id = stage.buy("before", {"seconds": 3})
    assert wait_until(lambda: _starts(stage, job_id) == 1, 20)
    worker = stage.processes["handle"]
    worker.terminate()
    assert wait_until(lambda: stage.store.get(job_id).status is Status.QUEUED, 4)
    assert (stage.store.get(job_id).starts, stage.store.get(job_id).interruptions) == (0, 0)
    assert worker.wait(10) is not None
    assert stage.sees(lambda: stage.sweep() or stage.store.get(job_id).is_final)
    job = stage.store.get(job_id)
    assert (job.status, job.starts, job.interruptions) == (Status.SUCCEEDED, 1, 0)
    check_invariants(stage.evidence())


def _starts(stage: Stage, job_id: str) -> int:
    return sum(run.job_id == job_id for run in stage.evidence().runs)


def _requeued(stage: Stage, job_id: str) -> None:
    """Sweep until the sweep took the job from the dead."""
    owner = stage.store.get(job_id).owner

    def taken() -> bool:
        stage.sweep()
        return stage.store.get(job_id).owner != owner

    assert wait_until(taken, 10)
