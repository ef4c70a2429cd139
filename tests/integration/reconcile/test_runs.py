"""What a run costs, which jobs it takes, and that any number of them do no harm (§10)."""

import pytest

from provider.errors import JobNotFound
from provider.jobs.model.status import Status
from provider.services import ChargePolicy
from tests.support.racing import race
from tests.support.reconciling import Scene


def test_500_unpaid_jobs_of_several_services_cost_four_calls(scene: Scene) -> None:
    """Nonces of all services together, 200 keys a call; one key tells how long such entries live."""
    for number in range(500):
        scene.claim(service=f"service-{number % 7}")
    scene.expire()
    report = scene.reconcile()
    assert report.counts == {"unpaid": 500}
    assert scene.asked == {"getNetwork": 1, "getLedgerEntries": 3}
    assert report.rpc_calls == 4


def test_500_open_jobs_cost_three_calls_once_the_network_is_known(scene: Scene) -> None:
    for _ in range(500):
        scene.claim()
    scene.reconcile()
    scene.asked.clear()
    assert scene.reconcile().counts == {"undecided": 500}
    assert scene.asked == {"getLedgerEntries": 3}


def test_paid_jobs_cost_no_more_than_two_calls_each(scene: Scene) -> None:
    claims = [scene.claim(ChargePolicy.UPFRONT if n % 2 else ChargePolicy.ON_SUCCESS) for n in range(30)]
    for claim in claims[:10]:
        scene.land(claim.payment)
    scene.expire()
    report = scene.reconcile()
    assert report.counts == {"paid": 10, "unpaid": 20}
    assert report.rpc_calls <= 6 + 2 * 10
    assert scene.asked["getHealth"] == 0


def test_nothing_uncertain_and_nothing_settled_costs_no_call(scene: Scene) -> None:
    assert scene.reconcile().rpc_calls == 0


def test_a_dry_run_shows_the_decisions_and_changes_nothing(scene: Scene) -> None:
    paid, _ = scene.claim(), scene.claim()
    scene.land(paid.payment)
    scene.expire()
    before = snapshot(scene)
    report = scene.reconcile(dry_run=True)
    assert report.counts == {"paid": 1, "unpaid": 1}
    assert not any(decision.recorded for decision in report.decisions)
    assert snapshot(scene) == before


def test_one_job_can_be_asked_for(scene: Scene) -> None:
    wanted, other = scene.claim(), scene.claim()
    scene.expire()
    assert [decision.job_id for decision in scene.reconcile(job_id=wanted.id).decisions] == [wanted.id]
    assert scene.job(other).status is Status.PAYMENT_UNCERTAIN


def test_a_job_that_is_not_uncertain_is_explained(scene: Scene) -> None:
    claim = scene.claim()
    scene.expire()
    scene.reconcile()
    verdict, reason = scene.decide(claim, job_id=claim.id)
    assert (verdict, reason.partition(";")[0]) == ("undecided", "the job is failed")


def test_an_unknown_job_is_not_found(scene: Scene) -> None:
    with pytest.raises(JobNotFound):
        scene.reconcile(job_id=f"after.{0:032x}")


def test_old_jobs_that_cannot_be_decided_do_not_keep_newer_ones_waiting(scene: Scene) -> None:
    stuck = [scene.claim(expiration=scene.ledger + 1000) for _ in range(7)]
    newer = [scene.claim() for _ in range(3)]
    scene.expire()
    for _ in range(3):
        assert len(scene.reconcile(limit=4).decisions) == 4
    assert {scene.job(claim).status for claim in newer} == {Status.FAILED}
    assert {scene.job(claim).status for claim in stuck} == {Status.PAYMENT_UNCERTAIN}


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 11])
def test_runs_take_every_job_in_turn(scene: Scene, limit: int) -> None:
    claims = [scene.claim() for _ in range(11)]
    seen: list[str] = []
    for _ in range(-(-11 // limit)):
        seen += [decision.job_id for decision in scene.reconcile(limit=limit).decisions]
    assert seen[:11] == [claim.id for claim in claims]


def test_a_service_with_many_jobs_leaves_room_for_the_others(scene: Scene) -> None:
    for _ in range(20):
        scene.claim(service="big")
    few = [scene.claim(service=name) for name in ("little", "small", "small")]
    report = scene.reconcile(limit=10)
    taken = {decision.job_id for decision in report.decisions}
    assert len(taken) == 10
    assert {claim.id for claim in few} <= taken


def test_a_job_that_was_next_and_got_decided_does_not_upset_the_turn(scene: Scene) -> None:
    claims = [scene.claim() for _ in range(6)]
    scene.reconcile(limit=3)
    scene.settler.record_unpaid(claims[2].id, "late answer")
    assert [d.job_id for d in scene.reconcile(limit=3).decisions] == [claim.id for claim in claims[3:]]


@pytest.mark.parametrize("_round", range(10))
def test_runs_at_once_and_a_late_answer_decide_each_job_once(scene: Scene, _round: int) -> None:
    claims = [scene.claim() for _ in range(6)]
    for claim in claims[:3]:
        scene.land(claim.payment)
    scene.expire()

    def decide(number: int) -> list[str]:
        if number == 5:
            return [claims[0].id] if scene.settler.record_paid(claims[0].id, "ab" * 32) else []
        return [found.job_id for found in scene.reconcile().decisions if found.recorded]

    decided = [answer for answer in race(6, decide) if isinstance(answer, list)]
    assert len(decided) == 6
    assert sorted(job_id for found in decided for job_id in found) == [claim.id for claim in claims]
    assert [scene.job(claim).status for claim in claims] == [Status.SUCCEEDED] * 3 + [Status.FAILED] * 3


def test_the_first_decision_stands(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A late answer arrives between the look at the chain and the record."""
    claim = scene.claim()
    scene.expire()
    record = scene.settler.record_unpaid

    def late(job_id: str, reason: str) -> bool:
        scene.settler.record_paid(job_id, "ab" * 32)
        return record(job_id, reason)

    monkeypatch.setattr(scene.settler, "record_unpaid", late)
    assert [decision.recorded for decision in scene.reconcile().decisions] == [False]
    assert scene.job(claim).status is Status.SUCCEEDED


def snapshot(scene: Scene) -> dict[str, object]:
    return {key: scene.redis.dump(key) for key in scene.redis.scan_iter()}
