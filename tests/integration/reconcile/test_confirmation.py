"""Settled claims are confirmed in the background, and a contradiction is told loudly (issue 3)."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.reconcile.audit import CONTRADICTION, PATIENCE_MS, UNCONFIRMED
from provider.jobs.store import keys
from provider.jobs.store.metrics import CONTRADICTIONS, Figures
from provider.services import ChargePolicy
from tests.support.reconciling import VALID_LEDGERS, WINDOW, Claim, Scene


@pytest.fixture
def settled(scene: Scene) -> Any:
    """Make a job that the facilitator called settled, or refused, whose payment has expired by the clock."""

    def make(*, paid: bool = True, **options: Any) -> Claim:
        claim = scene.claim(**options)
        if paid:
            scene.settler.record_paid(claim.id, "ab" * 32)
        else:
            scene.settler.record_unpaid(claim.id, "invalid_exact_stellar_payload_simulation_failed")
        scene.redis.hset(keys.job(claim.id), "expires_at_ms", scene.store.now_ms())
        return claim

    return make


def test_a_settled_claim_that_landed_is_confirmed_once(scene: Scene, settled: Any) -> None:
    """Network, nonce and event: the transaction of a receipt that its event bears out is not asked for."""
    claim = settled()
    scene.receipt(claim, scene.land(claim.payment))
    scene.expire()
    report = scene.reconcile()
    assert (report.confirmed, report.contradictions, report.rpc_calls) == (1, [], 3)
    assert scene.reconcile().rpc_calls == 0


def test_a_settled_claim_with_another_receipt_is_confirmed_by_its_own_transaction(
    scene: Scene, settled: Any
) -> None:
    claim = settled()
    scene.land(claim.payment)
    scene.expire()
    report = scene.reconcile()
    assert (report.confirmed, report.contradictions, report.rpc_calls) == (1, [], 4)


def test_two_claims_with_one_receipt_are_both_looked_into(scene: Scene, settled: Any) -> None:
    """A facilitator mixed up two equal payments, of which one was spent on another call."""
    real, lost = settled(), settled()
    tx_hash, _ = scene.land_all([real.payment, scene.sign(nonce=lost.nonce, amount=1)])
    scene.receipt(real, tx_hash)
    scene.receipt(lost, tx_hash)
    scene.expire()
    report = scene.reconcile()
    assert (report.confirmed, [found.job_id for found in report.contradictions]) == (1, [lost.id])


@pytest.mark.parametrize("charge", list(ChargePolicy))
def test_a_success_that_never_landed_is_told_and_decides_nothing(
    scene: Scene, settled: Any, charge: ChargePolicy
) -> None:
    claim = settled(charge=charge)
    before = scene.job(claim)
    scene.expire()
    with capture_logs() as logs:
        report = scene.reconcile()
    assert [found.job_id for found in report.contradictions] == [claim.id]
    loud = [entry for entry in logs if entry["event"] == CONTRADICTION]
    assert [(entry["log_level"], entry["job_id"]) for entry in loud] == [("error", claim.id)]
    assert scene.job(claim) == before


def test_a_refusal_that_landed_is_told_too(scene: Scene, settled: Any) -> None:
    """The buyer was charged for a job that says it is not: he is owed money."""
    claim = settled(paid=False)
    tx_hash = scene.land(claim.payment)
    scene.expire()
    assert [found.transaction for found in scene.reconcile().contradictions] == [tx_hash]
    assert scene.job(claim).status is Status.FAILED


def test_a_refused_payment_whose_nonce_was_used_otherwise_is_no_contradiction(
    scene: Scene, settled: Any
) -> None:
    claim = settled(paid=False)
    scene.land(scene.sign(nonce=claim.nonce, amount=1))
    scene.expire()
    assert scene.reconcile().contradictions == []


def test_a_success_whose_nonce_was_used_otherwise_is_a_contradiction(scene: Scene, settled: Any) -> None:
    """Was taken for confirmed: the entry was there."""
    claim = settled()
    scene.land(scene.sign(nonce=claim.nonce, amount=1))
    scene.expire()
    report = scene.reconcile()
    assert (report.confirmed, [found.job_id for found in report.contradictions]) == (0, [claim.id])


def test_a_refusal_that_landed_is_found_though_its_entry_has_gone(scene: Scene, settled: Any) -> None:
    """Was passed over once the window of the network was over: an hour on testnet."""
    claim = settled(paid=False)
    scene.land(claim.payment)
    scene.state.close(WINDOW + VALID_LEDGERS)
    assert [found.job_id for found in scene.reconcile().contradictions] == [claim.id]


def test_a_job_that_cannot_be_looked_at_holds_up_the_others_for_an_hour_only(
    scene: Scene, settled: Any
) -> None:
    """Its scan fails in each run; the operator reads of it when it is passed over."""
    stuck = settled()
    scene.land(scene.sign(nonce=stuck.nonce, amount=1))
    behind = settled()
    scene.expire()
    scene.faults.add("processing_limit", method="getTransactions")
    assert (scene.reconcile().contradictions, scene.reconcile().contradictions) == ([], [])
    scene.redis.hincrby(keys.job(stuck.id), "expires_at_ms", -PATIENCE_MS)
    with capture_logs() as logs:
        assert [found.job_id for found in scene.reconcile().contradictions] == [behind.id]
    passed = [entry for entry in logs if entry["event"] == UNCONFIRMED]
    assert [(entry["log_level"], entry["job_id"]) for entry in passed] == [("warning", stuck.id)]
    assert scene.reconcile().rpc_calls == 0


def test_contradictions_are_counted_for_metrics(scene: Scene, settled: Any) -> None:
    """Each once, over all runs."""
    settled(), settled()
    scene.expire()
    scene.reconcile()
    settled(expiration=scene.ledger + VALID_LEDGERS)
    scene.expire()
    scene.reconcile()
    assert Figures(scene.store).read()[CONTRADICTIONS] == {(): 3}


def test_a_second_rpc_must_agree_before_it_is_told(scene: Scene, settled: Any) -> None:
    settled()
    scene.expire()
    scene.servers[1].faults.add("rpc_down")
    assert scene.reconcile(rpcs=2).contradictions == []


def test_jobs_whose_payment_has_not_expired_wait(scene: Scene) -> None:
    claim = scene.claim()
    scene.settler.record_paid(claim.id, "ab" * 32)
    scene.expire()
    assert scene.reconcile().rpc_calls == 0
    scene.redis.hset(keys.job(claim.id), "expires_at_ms", scene.store.now_ms())
    assert len(scene.reconcile().contradictions) == 1


@pytest.mark.parametrize("fault", ["rpc_down", "lag"])
def test_jobs_that_the_rpc_cannot_tell_about_yet_are_looked_at_again(
    scene: Scene, settled: Any, fault: str
) -> None:
    settled()
    scene.expire()
    scene.faults.add(fault)
    assert (scene.reconcile().contradictions, scene.reconcile().contradictions) == ([], [])
    scene.faults.clear()
    assert len(scene.reconcile().contradictions) == 1


def test_each_of_many_is_confirmed_once_in_batches(
    scene: Scene, settled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("provider.jobs.reconcile.run.AUDIT_AT_LEAST", 4)
    names = ["one", "two", "two", "three", "three", "three"] * 3
    claims = [settled(service=name, expiration=scene.ledger + VALID_LEDGERS) for name in names]
    scene.expire()
    told = [found.job_id for _ in range(30) for found in scene.reconcile(limit=4).contradictions]
    assert sorted(told) == sorted(claim.id for claim in claims)


def test_jobs_of_one_millisecond_are_not_torn_apart(
    scene: Scene, settled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cursor is a time: had one of them been left for the next run, it would never be looked at."""
    monkeypatch.setattr("provider.jobs.reconcile.run.AUDIT_AT_LEAST", 2)
    claims = [settled() for _ in range(3)]
    index, now_ms = keys.index("after"), scene.store.now_ms()
    for claim, made_at in zip(claims, (now_ms - 9, now_ms - 5, now_ms - 5), strict=True):
        scene.redis.hset(keys.job(claim.id), "created_at_ms", made_at)
        scene.redis.zadd(index, {claim.id: Status.SUCCEEDED.code * INDEX_STEP + made_at})
    scene.expire()
    told = [found.job_id for _ in range(3) for found in scene.reconcile(limit=2).contradictions]
    assert sorted(told) == sorted(claim.id for claim in claims)


def test_a_run_for_one_job_and_a_dry_run_confirm_nothing(scene: Scene, settled: Any) -> None:
    claim = settled()
    scene.expire()
    assert scene.reconcile(dry_run=True).contradictions == []
    assert scene.reconcile(job_id=claim.id).contradictions == []


def test_a_full_batch_of_uncertain_and_settled_jobs_costs_six_calls_at_most(
    scene: Scene, settled: Any
) -> None:
    for _ in range(20):
        scene.claim(), settled()
    scene.land(scene.sign())
    scene.expire()
    assert scene.reconcile().rpc_calls <= 6
