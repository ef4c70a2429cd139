"""When the nonce entry may have gone, the RPC's history decides, as far as it reaches (§10, 3 and 4)."""

import pytest

from provider.chain.rpc import Health
from provider.jobs.model.status import Status
from tests.support.reconciling import VALID_LEDGERS, WINDOW, Claim, Scene


def outlive_the_nonce(scene: Scene, claim: Claim) -> None:
    """Go on until an entry made in the last valid ledger would have gone, too."""
    scene.state.close(WINDOW + VALID_LEDGERS + 2)
    assert claim.job.terms.expiration_ledger + WINDOW < scene.ledger


def test_absence_proves_as_long_as_the_network_keeps_entries(scene: Scene) -> None:
    claim = scene.claim()
    scene.state.close(WINDOW)
    assert scene.decide(claim, dry_run=True) == ("unpaid", "the nonce was not used until ledger 1000031")
    assert scene.asked["getEvents"] == 0
    scene.state.close()
    assert "no transaction of ledgers" in scene.decide(claim, dry_run=True)[1]
    assert scene.asked["getEvents"] > 0


def test_an_entry_of_the_claim_ledger_is_there_until_the_end_of_the_proof(scene: Scene) -> None:
    """The last moment at which absence would still prove something: the entry must not have gone by then."""
    payment = scene.sign()
    scene.land(payment)
    claim = scene.claim(payment=payment, claim_ledger=scene.ledger, expiration=scene.ledger + VALID_LEDGERS)
    scene.state.close(WINDOW)
    assert scene.decide(claim)[0] == "paid"


def test_a_payment_whose_nonce_entry_has_gone_is_found_by_its_event(scene: Scene) -> None:
    claim = scene.claim()
    tx_hash, landed_in = scene.land(claim.payment), scene.ledger
    outlive_the_nonce(scene, claim)
    scene.reconcile()
    job = scene.job(claim)
    assert job.receipt is not None
    assert (job.status, job.receipt.transaction) == (Status.SUCCEEDED, tx_hash)
    assert job.receipt.ledger == landed_in


def test_a_known_hash_saves_the_search(scene: Scene) -> None:
    payment = scene.sign()
    envelope = scene.build(payment)
    claim = scene.claim(payment=payment, hint=envelope.hash_hex())
    scene.send(envelope)
    outlive_the_nonce(scene, claim)
    assert scene.decide(claim)[0] == "paid"
    assert scene.asked["getEvents"] == 0


def test_a_payment_in_the_last_ledger_of_the_range_is_found(scene: Scene) -> None:
    claim = scene.claim()
    scene.state.close(VALID_LEDGERS - 1)
    scene.land(claim.payment)
    outlive_the_nonce(scene, claim)
    assert scene.decide(claim)[0] == "paid"


def test_a_whole_range_without_the_payment_is_final(scene: Scene) -> None:
    claims = [scene.claim(), scene.claim()]
    outlive_the_nonce(scene, claims[0])
    assert scene.reconcile().counts == {"unpaid": 2}
    assert {scene.job(claim).status for claim in claims} == {Status.FAILED}
    assert (scene.asked["getHealth"], scene.asked["getEvents"]) == (0, 1)


@pytest.mark.parametrize(("oldest", "verdict"), [(0, "unpaid"), (1, "undecided"), (13, "undecided")])
def test_history_that_begins_inside_or_after_the_range_cannot_deny_a_payment(
    scene: Scene, oldest: int, verdict: str
) -> None:
    claim = scene.claim()
    first = scene.ledger
    outlive_the_nonce(scene, claim)
    scene.faults.add("prune", oldest=first + oldest)
    found = scene.decide(claim)
    assert found[0] == verdict
    assert (verdict == "unpaid") != found[1].endswith("use an RPC with more history")


def test_a_payment_in_the_part_of_the_range_that_is_left_is_found(scene: Scene) -> None:
    claim = scene.claim()
    first = scene.ledger
    scene.state.close(4)
    scene.land(claim.payment)
    outlive_the_nonce(scene, claim)
    scene.faults.add("prune", oldest=first + 5)
    assert scene.decide(claim)[0] == "paid"


def test_a_used_nonce_whose_ledgers_are_pruned_decides_nothing(scene: Scene) -> None:
    """A payment and another call leave the same entry; only the transaction shows which of them it was."""
    payment = scene.sign()
    envelope = scene.build(payment)
    scene.claim(payment=payment, hint=envelope.hash_hex().upper())
    other = scene.claim()
    scene.send(envelope)
    scene.land(scene.sign(nonce=other.nonce, amount=1))
    scene.faults.add("prune", oldest=scene.ledger + 3)
    scene.state.close(5)
    reasons = [found.reason for found in scene.reconcile().decisions]
    assert all(reason.endswith("use an RPC with more history") for reason in reasons)
    scene.faults.clear()
    assert [found.verdict for found in scene.reconcile().decisions] == ["paid", "unpaid"]


def test_a_nonce_used_before_the_claim_needs_a_transaction_to_be_believed(scene: Scene) -> None:
    payment = scene.sign()
    scene.land(payment)
    scene.state.close(3)
    claim = scene.claim(payment=payment)
    scene.faults.add("prune", oldest=scene.ledger - 1)
    verdict, reason = scene.decide(claim)
    assert (verdict, reason.endswith("use an RPC with more history")) == ("undecided", True)
    scene.faults.clear()
    assert scene.decide(claim)[0] == "paid"


def test_a_hash_that_is_known_to_be_another_transaction_is_no_receipt(scene: Scene) -> None:
    """It failed, and the one that paid is out of sight."""
    payment = scene.sign()
    envelope = scene.build(payment)
    claim = scene.claim(payment=payment, hint=envelope.hash_hex())
    scene.send(envelope, fails=True)
    scene.land(payment)
    for method in ("getHealth", "getEvents", "getTransactions"):
        scene.faults.add("prune", method=method, oldest=scene.ledger + 1)
    scene.state.close(2)
    assert scene.decide(claim)[1].endswith("use an RPC with more history")


def test_lost_events_do_not_hide_the_transaction(scene: Scene) -> None:
    claim = scene.claim()
    tx_hash = scene.land(claim.payment)
    scene.faults.add("lose_events")
    scene.reconcile()
    receipt = scene.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash
    assert scene.asked["getTransactions"] == 1


def test_a_ledger_is_listed_to_its_end(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("provider.chain.scan.TRANSACTIONS_PAGE", 2)
    claim = scene.claim()
    tx_hash = scene.land_all([*(scene.sign() for _ in range(4)), claim.payment])[-1]
    scene.land(scene.sign())
    scene.faults.add("lose_events")
    scene.reconcile()
    receipt = scene.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash
    assert scene.asked["getTransactions"] == 3


def test_a_search_goes_on_through_empty_pages(scene: Scene) -> None:
    """An RPC scans 10 000 ledgers a request, so a long range has pages without any event."""
    claim = scene.claim(expiration=scene.ledger + 25_000)
    scene.state.close(24_000)
    tx_hash = scene.land(claim.payment)
    scene.state.close(WINDOW + 1_001)
    scene.reconcile()
    receipt = scene.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash
    assert scene.asked["getEvents"] == 3


def test_full_pages_are_followed_to_the_end(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("provider.chain.history.EVENTS_PAGE", 2)
    claim = scene.claim()
    others = [scene.sign() for _ in range(4)]
    scene.land_all([*others, claim.payment])
    outlive_the_nonce(scene, claim)
    assert scene.decide(claim)[0] == "paid"
    assert scene.asked["getEvents"] == 3


def test_full_pages_of_the_last_ledger_are_followed_too(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cursor in the last ledger is not yet at its end."""
    monkeypatch.setattr("provider.chain.history.EVENTS_PAGE", 2)
    claim = scene.claim()
    scene.land_all([*(scene.sign() for _ in range(4)), claim.payment])
    assert scene.decide(claim)[0] == "paid"
    assert (scene.asked["getEvents"], scene.asked["getTransactions"]) == (3, 0)


def test_an_rpc_that_lags_in_its_events_denies_nothing(scene: Scene) -> None:
    """Nodes behind one address differ: the one with the events may be behind the one with the nonce."""
    claim = scene.claim()
    scene.land(claim.payment)
    outlive_the_nonce(scene, claim)
    scene.faults.add("lag", method="getEvents", ledgers=WINDOW + VALID_LEDGERS)
    verdict, reason = scene.decide(claim)
    assert verdict == "undecided"
    assert "lags behind" in reason


def test_an_unknown_claim_ledger_is_worked_out_from_the_clocks(aged: Scene) -> None:
    """The clock was away at the claim: its time tells where to begin, with room for wrong clocks."""
    scene = aged
    claim = scene.claim(claim_ledger=None)
    scene.expire()
    assert scene.decide(claim)[0] == "unpaid"
    paid = scene.claim(claim_ledger=None)
    scene.land(paid.payment)
    assert scene.decide(paid)[0] == "paid"


def test_an_unknown_claim_ledger_proves_only_half_as_long(scene: Scene) -> None:
    """A guess is generous: absence proves for less time, and then the history has to reach further back."""
    claim = scene.claim(claim_ledger=None)
    first = scene.ledger
    scene.state.close(WINDOW - VALID_LEDGERS)
    scene.faults.add("prune", oldest=first - 10)
    assert scene.decide(claim)[0] == "undecided"
    scene.faults.clear()


def test_without_close_times_an_unknown_claim_ledger_stays_unknown(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = scene.claim(claim_ledger=None)
    scene.expire()
    monkeypatch.setattr(scene.rpcs[0], "health", lambda: Health(scene.ledger, 1_000_000))
    assert scene.decide(claim) == ("undecided", "the ledger of the claim is unknown")
