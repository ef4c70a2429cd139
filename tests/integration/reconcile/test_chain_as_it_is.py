"""What a real chain and a real RPC do that a decision must survive.

Each test was red before the rule that it names.
"""

import pytest
from stellar_sdk import Keypair

from provider.jobs.model.status import Status
from tests.support.reconciling import PRICE, VALID_LEDGERS, WINDOW, Claim, Scene
from tests.support.strangers import extend_nonce, touch_nonce


def touch(scene: Scene, claim: Claim) -> None:
    touch_nonce(scene.state, claim.job.terms.payer, claim.nonce)


def extend(scene: Scene, claim: Claim, ledgers: int = 5_000) -> None:
    extend_nonce(scene.state, claim.job.terms.payer, claim.nonce, ledgers)


# The ledger of the last change of a nonce entry is not that of its use


@pytest.mark.parametrize("hinted", [False, True])
@pytest.mark.parametrize("rpcs", [1, 2])
def test_a_paid_job_stays_paid_when_a_stranger_touches_its_nonce_after_the_expiration(
    scene: Scene, hinted: bool, rpcs: int
) -> None:
    """Was `unpaid`, also with the right hash and two RPCs."""
    payment = scene.sign()
    envelope = scene.build(payment)
    claim = scene.claim(payment=payment, hint=envelope.hash_hex() if hinted else "")
    scene.send(envelope)
    scene.expire()
    touch(scene, claim)
    assert scene.decide(claim, rpcs=rpcs)[0] == "paid"
    assert scene.job(claim).charged


def test_a_settled_job_whose_nonce_was_touched_is_no_contradiction(scene: Scene) -> None:
    """Was one for each settled job."""
    claim = scene.claim()
    scene.settler.record_paid(claim.id, scene.land(claim.payment))
    scene.expire()
    touch(scene, claim)
    scene.expire_by_clock(claim)
    report = scene.reconcile(rpcs=2)
    assert (report.confirmed, report.contradictions) == (1, [])


def test_a_payment_whose_nonce_was_touched_before_the_expiration_is_found(scene: Scene) -> None:
    """Was undecided for as long as the history lasts."""
    claim = scene.claim()
    tx_hash = scene.land(claim.payment)
    scene.state.close(2)
    touch(scene, claim)
    assert scene.decide(claim)[0] == "paid"
    receipt = scene.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash


def test_a_nonce_spent_on_one_unit_and_kept_alive_buys_nothing(scene: Scene) -> None:
    """Was `paid`, and its output delivered, once the history began after the touch."""
    claim = scene.claim()
    scene.land(scene.sign(nonce=claim.nonce, amount=1))
    touch(scene, claim)
    extend(scene, claim)
    scene.expire()
    scene.faults.add("prune", oldest=scene.ledger - 1)
    verdict, reason = scene.decide(claim)
    assert (verdict, reason.endswith("use an RPC with more history")) == ("undecided", True)
    scene.faults.clear()
    assert scene.decide(claim)[0] == "unpaid"
    assert scene.received() == 1


# An RPC that does not answer has not forgotten


REFUSALS = {
    "processing_limit": "request exceeded processing limit threshold",
    "queue_limit": "surpassed queue limit of 1000 requests",
    "database_error": "database is locked",
    "missing_metadata": "does not contain metadata for ledger",
}


@pytest.mark.parametrize("fault", REFUSALS)
def test_an_error_of_the_list_of_transactions_is_no_payment(scene: Scene, fault: str) -> None:
    """Was `paid` for a nonce that was spent on one unit."""
    claim = scene.claim()
    scene.land(scene.sign(nonce=claim.nonce, amount=1))
    scene.faults.add(fault, method="getTransactions")
    verdict, reason = scene.decide(claim)
    assert (verdict, REFUSALS[fault] in reason) == ("undecided", True)
    assert scene.job(claim).status is Status.PAYMENT_UNCERTAIN


def test_an_rpc_with_a_lower_limit_is_asked_for_smaller_pages(scene: Scene) -> None:
    """Was `paid`, too: `limit must not exceed` came for each page of 200."""
    claim = scene.claim()
    payments = [scene.sign() for _ in range(5)]
    scene.land_all([*payments, scene.sign(nonce=claim.nonce, amount=1)])
    for method in ("getTransactions", "getEvents"):
        scene.faults.add("page_limit", method=method, limit=3)
    assert scene.decide(claim)[0] == "unpaid"
    assert scene.asked["getTransactions"] == 4


def test_a_lagging_list_of_transactions_is_no_payment(scene: Scene) -> None:
    """Was `paid`: a node behind the same address may be behind the one that has the nonce."""
    claim = scene.claim()
    scene.land(scene.sign(nonce=claim.nonce, amount=1))
    scene.faults.add("lag", method="getTransactions", ledgers=2)
    verdict, reason = scene.decide(claim)
    assert (verdict, "start ledger must be between" in reason) == ("undecided", True)


# The network says how long absence proves something


def test_nothing_is_proven_by_absence_before_the_setting_was_read(scene: Scene) -> None:
    """Was `unpaid` for a paid job: an RPC without the setting was taken for one that keeps entries a day."""
    claim = scene.claim()
    scene.land(claim.payment)
    scene.state.close(WINDOW + VALID_LEDGERS)
    scene.faults.add("hide_settings")
    assert scene.decide(claim)[0] == "paid"


def test_each_batch_of_nonces_asks_for_the_setting(scene: Scene) -> None:
    """Was six of 205 paid jobs `unpaid`: the first batch failed, and the second believed in a day."""
    claims = [scene.claim() for _ in range(205)]
    for start in range(0, 205, 41):
        scene.land_all([claim.payment for claim in claims[start : start + 41]])
    scene.state.close(WINDOW + VALID_LEDGERS)
    scene.faults.add("captive_core", count=1)
    counts = scene.reconcile().counts
    assert (counts["unpaid"], counts["undecided"] > 100, counts["paid"] > 0) == (0, True, True)


# One job that cannot be looked at


def test_a_scan_that_breaks_the_connection_concerns_its_own_job_alone(scene: Scene) -> None:
    """Was every used job of the run undecided."""
    spent, paid = scene.claim(), [scene.claim() for _ in range(3)]
    scene.land(scene.sign(nonce=spent.nonce, amount=1))
    for claim in paid:
        scene.land(claim.payment)
    scene.faults.add("rpc_down", method="getTransactions", mode="reset")
    decisions = {found.job_id: found.verdict.value for found in scene.reconcile().decisions}
    assert decisions == {spent.id: "undecided"} | {claim.id: "paid" for claim in paid}


# A payee that issues the token


def test_a_payment_to_the_issuer_of_the_token_is_found_by_its_burn(issued: Scene) -> None:
    """Was `unpaid` once the nonce entry had gone: such a transfer has no `transfer` event."""
    claim = issued.claim()
    tx_hash = issued.land(claim.payment)
    issued.state.close(WINDOW + VALID_LEDGERS)
    assert issued.decide(claim)[0] == "paid"
    receipt = issued.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash


def test_a_payment_by_the_issuer_of_the_token_is_found_by_its_mint(issued: Scene) -> None:
    issued.seller, issued.buyer = Keypair.random(), issued.seller
    issued.state.fund(issued.seller.public_key)
    claim = issued.claim()
    issued.land(claim.payment)
    issued.state.close(WINDOW + VALID_LEDGERS)
    assert issued.decide(claim)[0] == "paid"
    assert issued.received() == PRICE
