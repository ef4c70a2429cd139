"""One record that cannot be read keeps the reconciler from no other (§10)."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from provider.jobs.model.codec import UNREADABLE
from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.store import keys
from tests.support.reconciling import Claim, Scene


def damage(scene: Scene, claim: Claim, old: str, new: str) -> None:
    """Spoil a record, as a flipped digit in Redis' file would."""
    terms: Any = scene.redis.hget(keys.job(claim.id), "terms")
    assert old in terms
    scene.redis.hset(keys.job(claim.id), "terms", terms.replace(old, new))


@pytest.mark.parametrize("what", ["all", "payer", "payee", "asset"])
def test_an_unreadable_uncertain_job_is_told_of_and_the_others_are_decided(scene: Scene, what: str) -> None:
    """It stays uncertain: nobody can tell whether it was paid."""
    bad, good = scene.claim(), scene.claim()
    terms = bad.job.terms
    spoilt = {"all": "[", "payer": terms.payer, "payee": terms.pay_to, "asset": terms.asset}[what]
    damage(scene, bad, spoilt, spoilt[:-1] + "?")
    scene.expire()
    with capture_logs() as logs:
        report = scene.reconcile()
    assert report.counts["unpaid"] == 1
    assert scene.job(good).status is Status.FAILED
    assert {line["job_id"] for line in logs if line["event"] == UNREADABLE} == {bad.id}
    assert scene.redis.hget(keys.job(bad.id), "status") == Status.PAYMENT_UNCERTAIN


def test_an_unreadable_settled_job_does_not_keep_the_others_from_being_confirmed(scene: Scene) -> None:
    """The cursor goes on over it."""
    bad, good = scene.claim(), scene.claim()
    for claim in (bad, good):
        scene.settler.record_paid(claim.id, "ab" * 32)
        scene.redis.hset(keys.job(claim.id), "expires_at_ms", 1)
    damage(scene, bad, bad.job.terms.payer, bad.job.terms.payer[:-1] + "?")
    scene.expire()
    assert [found.job_id for found in scene.reconcile().contradictions] == [good.id]
    assert scene.reconcile().contradictions == []


@pytest.mark.parametrize("status", [Status.PAYMENT_UNCERTAIN, Status.SUCCEEDED])
def test_what_is_no_id_in_the_index_keeps_no_job_from_its_decision(scene: Scene, status: Status) -> None:
    """Somebody wrote to the index by hand."""
    claim = scene.claim()
    score = status.code * INDEX_STEP + claim.job.created_at_ms
    scene.redis.zadd(keys.index(claim.job.service), {"x": score, f"other.{'0' * 32}": score})
    scene.expire()
    assert scene.reconcile().counts["unpaid"] == 1
    assert scene.job(claim).status is Status.FAILED
