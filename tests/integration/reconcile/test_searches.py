"""Searches of the history: what one job costs and suffers is its own (§10)."""

import pytest
from stellar_sdk import Keypair

from provider.chain.scan import OUT_OF_PAGES
from tests.support.reconciling import VALID_LEDGERS, WINDOW, Claim, Scene
from tests.support.strangers import touch_nonce


def spend(scene: Scene, claim: Claim) -> None:
    """Have the payer use the nonce for one unit."""
    scene.land(scene.sign(nonce=claim.nonce, amount=1))


def test_a_call_behind_too_many_transactions_is_left_to_a_run_for_its_job(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other jobs have pages of their own, and the run for the one job has no limit."""
    monkeypatch.setattr("provider.chain.scan.TRANSACTIONS_PAGE", 1)
    monkeypatch.setattr("provider.jobs.reconcile.quorum.MOST_PAGES_A_JOB", 4)
    claim, other = scene.claim(), scene.claim()
    scene.land_all([scene.sign() for _ in range(7)])
    spend(scene, claim)
    touch_nonce(scene.state, claim.job.terms.payer, claim.nonce)
    spend(scene, other)
    decided = {found.job_id: (found.verdict.value, found.reason) for found in scene.reconcile().decisions}
    assert decided[claim.id] == ("undecided", f"no answer from the RPC: {OUT_OF_PAGES}")
    assert decided[other.id][0] == "unpaid"
    assert scene.decide(claim, job_id=claim.id)[0] == "unpaid"


def test_a_run_gives_up_listing_for_an_rpc_that_never_answers_it(scene: Scene) -> None:
    """Each such call may take its whole time-out."""
    claims = [scene.claim() for _ in range(9)]
    scene.land_all([scene.sign(nonce=claim.nonce, amount=1) for claim in claims])
    scene.faults.add("rpc_down", method="getTransactions", mode="reset")
    assert scene.reconcile().counts == {"undecided": 9}
    assert scene.asked["getTransactions"] == 5


def test_an_error_for_many_payments_is_asked_again_for_each_of_them(scene: Scene) -> None:
    claims = [scene.claim() for _ in range(3)]
    scene.land(claims[0].payment)
    scene.state.close(WINDOW + VALID_LEDGERS)
    scene.faults.add("processing_limit", method="getEvents", count=1)
    assert scene.reconcile().counts == {"paid": 1, "unpaid": 2}
    assert scene.asked["getEvents"] == 4


def test_payments_of_far_apart_times_are_searched_in_their_own_ledgers(scene: Scene) -> None:
    """A request searches ten thousand ledgers, whatever is asked for."""
    first = scene.claim()
    tx_hash = scene.land(first.payment)
    scene.state.close(11_000)
    second = scene.claim()
    scene.state.close(WINDOW + VALID_LEDGERS)
    assert scene.reconcile().counts == {"paid": 1, "unpaid": 1}
    assert scene.asked["getEvents"] == 2
    receipt = scene.job(first).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash
    assert not scene.job(second).charged


def test_an_event_whose_transaction_is_not_shown_denies_nothing(scene: Scene) -> None:
    """Nodes behind one address differ: the one that is asked for the transaction may have forgotten it."""
    claim = scene.claim()
    tx_hash = scene.land(claim.payment)
    scene.state.close(WINDOW + VALID_LEDGERS)
    scene.faults.add("prune", method="getTransaction", oldest=scene.ledger)
    verdict, reason = scene.decide(claim)
    assert (verdict, f"{tx_hash} does not show" in reason) == ("undecided", True)


def test_a_setting_that_was_raised_since_the_claim_proves_nothing_about_it(scene: Scene) -> None:
    """An entry made before lives by the old one: the history decides."""
    claim = scene.claim()
    scene.land(claim.payment)
    scene.expire()
    scene.state.set_min_temporary_ttl(17_280)
    scene.state.close(WINDOW)
    assert scene.decide(claim)[0] == "paid"


def test_a_search_by_many_payers_asks_for_25_of_them_at_once(scene: Scene) -> None:
    payers = [Keypair.random() for _ in range(26)]
    for payer in payers:
        scene.state.fund(payer.public_key, "1")
        scene.claim(payer=payer)
    scene.state.close(WINDOW + VALID_LEDGERS)
    assert scene.reconcile().counts == {"unpaid": 26}
    assert scene.asked["getEvents"] == 2


def test_a_named_transaction_that_cannot_be_read_does_not_keep_the_history_from_deciding(
    scene: Scene,
) -> None:
    """All transfers of its ledgers are looked at, and it is not one of them."""
    claim = scene.claim(hint="ab" * 32)
    scene.state.close(WINDOW + VALID_LEDGERS)
    scene.faults.add("database_error", method="getTransaction")
    assert scene.decide(claim)[0] == "unpaid"
