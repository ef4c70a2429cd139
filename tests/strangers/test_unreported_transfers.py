"""A transfer lands for a job that is then reported as not charged (issue 9.5).

Red before: the audit passed jobs that were not over when their payment expired, the sweep failed them as
uncharged, and nothing looked again. Of four buyers that a restored Redis had charged, one was reported.
"""

import pytest

from provider.jobs.model.status import Status
from provider.jobs.reconcile import audit
from provider.jobs.store import keys
from provider.jobs.store.contradictions import Contradictions
from provider.services import ChargePolicy
from tests.integration.cli.conftest import Desk
from tests.integration.reconcile.conftest import certificates, scene
from tests.support.jobs import Platform
from tests.support.reconciling import Claim, Scene

__all__ = ["certificates", "scene"]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "LATER_SECONDS", 0.0)


def expired(scene: Scene, claim: Claim) -> None:
    scene.expire()
    scene.redis.hset(keys.job(claim.id), "expires_at_ms", scene.store.now_ms())


def restored(scene: Scene, kind: str) -> Claim:
    """Make a job as an older Redis has it: its settlement landed after the copy was made."""
    if kind == "uncertain":
        return scene.claim()
    charge = ChargePolicy.UPFRONT if kind == "pending" else ChargePolicy.ON_SUCCESS
    return scene.settling(charge)


@pytest.mark.parametrize("kind", ["pending", "running", "uncertain"])
def test_a_job_that_is_not_over_is_audited_when_it_is(scene: Scene, kind: str) -> None:
    """Other jobs are not kept waiting for it."""
    claim = restored(scene, kind)
    tx_hash = scene.land(claim.payment)
    expired(scene, claim)
    scene.faults.add("rpc_down", method="getLedgerEntries") if kind == "uncertain" else None
    assert scene.reconcile().contradictions == []
    assert scene.settler.record_unpaid(claim.id, "invalid_exact_stellar_payload_simulation_failed")
    assert scene.job(claim).status is Status.FAILED
    scene.faults.clear()
    assert [found.transaction for found in scene.reconcile().contradictions] == [tx_hash]
    assert scene.reconcile().contradictions == []
    listed = Contradictions(scene.store).list()
    assert [(one.job_id, one.charged, one.transaction) for one in listed] == [(claim.id, False, tx_hash)]


def test_all_charged_buyers_of_a_restored_store_are_reported(scene: Scene) -> None:
    """Four jobs in four states of one copy."""
    claims = [restored(scene, kind) for kind in ("pending", "running", "running", "pending")]
    for claim in claims:
        scene.land(claim.payment)
    for claim in claims:
        expired(scene, claim)
    scene.reconcile()
    for claim in claims:
        scene.settler.record_unpaid(claim.id, "invalid")
    scene.reconcile()
    assert {one.job_id for one in Contradictions(scene.store).list()} == {claim.id for claim in claims}


def test_a_contradiction_is_listed_until_an_operator_settles_it(platform: Platform) -> None:
    """It outlives the record of its job."""
    desk, job = Desk(platform), platform.finish(platform.buy())
    Contradictions(platform.store).add(job, "", "the nonce was not used")
    assert platform.store.forget(job)
    assert [one["job_id"] for one in desk.json("jobs", "list", "--contradicted")["jobs"]] == [job.id]
    shown = desk.run("jobs", "list", "--contradicted", columns=200).stdout
    assert (job.id in shown, "says charged, the chain not paid" in shown) == (True, True)
    assert desk.run("jobs", "settle", job.id).exit_code == 0
    assert desk.run("jobs", "settle", job.id).exit_code == 1
    assert desk.run("jobs", "settle", "nonsense").exit_code == 2
    assert desk.run("jobs", "list", "--contradicted").stdout == "No contradictions.\n"
