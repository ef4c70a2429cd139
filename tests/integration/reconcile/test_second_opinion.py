"""A second RPC has to agree before a payment is called unpaid, and before nothing else (§10)."""

import pytest

from provider.chain.nonces import ARCHIVAL_KEY
from provider.jobs.model.status import Status
from tests.support.reconciling import VALID_LEDGERS, WINDOW, Scene


def test_two_rpcs_that_agree_make_a_payment_unpaid(scene: Scene) -> None:
    claim = scene.claim()
    scene.expire()
    assert scene.decide(claim, rpcs=2)[0] == "unpaid"
    assert scene.rpcs[1].asked == {"getNetwork": 1, "getLedgerEntries": 1}


@pytest.mark.parametrize(
    ("fault", "given"),
    [("rpc_down", {}), ("lag", {"ledgers": 2})],
)
def test_a_second_rpc_that_does_not_know_keeps_the_job_open(
    scene: Scene, fault: str, given: dict[str, int]
) -> None:
    claim = scene.claim()
    scene.expire()
    scene.servers[1].faults.add(fault, **given)
    verdict, reason = scene.decide(claim, rpcs=2)
    assert verdict == "undecided"
    assert f"{scene.servers[1].url} does not agree" in reason
    assert scene.job(claim).status is Status.PAYMENT_UNCERTAIN
    scene.servers[1].faults.clear()
    assert scene.decide(claim, rpcs=2)[0] == "unpaid"


def test_a_second_rpc_that_sees_the_payment_keeps_the_job_open(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one is broken in the worst way: it is ahead, but lost an entry."""
    claim = scene.claim()
    scene.land(claim.payment)
    scene.expire()
    setting = scene.rpcs[0].ledger_entries([ARCHIVAL_KEY])
    monkeypatch.setattr(scene.rpcs[0], "ledger_entries", lambda keys: setting)
    assert scene.decide(claim, rpcs=2)[0] == "undecided"
    assert scene.decide(claim)[0] == "unpaid"  # As it would be without the second one.


def test_a_second_rpc_with_less_history_keeps_the_job_open(scene: Scene) -> None:
    claim = scene.claim()
    first = scene.ledger
    scene.state.close(WINDOW + VALID_LEDGERS)
    scene.servers[1].faults.add("prune", oldest=first + 1)
    assert "use an RPC with more history" in scene.decide(claim, rpcs=2)[1]


def test_a_paid_job_needs_no_second_opinion(scene: Scene) -> None:
    claim = scene.claim()
    scene.land(claim.payment)
    assert scene.decide(claim, rpcs=2)[0] == "paid"
    assert scene.rpcs[1].asked.total() == 0
