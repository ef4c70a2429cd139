"""Each way a settlement can go, and how its job ends (§10; the settlement table of issue 3)."""

import pytest
from stellar_sdk import Keypair, TransactionBuilder

from provider.jobs.model.status import ErrorCode, Status
from provider.networks import TESTNET
from provider.services import ChargePolicy
from tests.support.payments import PASSPHRASES
from tests.support.reconciling import PRICE, VALID_LEDGERS, Scene

ON_SUCCESS, UPFRONT = ChargePolicy.ON_SUCCESS, ChargePolicy.UPFRONT


def test_a_lost_reply_after_the_transfer_landed_ends_in_success_with_a_receipt(scene: Scene) -> None:
    claim = scene.claim()
    tx_hash = scene.land(claim.payment)
    scene.reconcile()
    job = scene.job(claim)
    assert (job.status, job.charged, job.output) == (Status.SUCCEEDED, True, '{"a":1}')
    assert job.receipt is not None
    assert (job.receipt.transaction, job.receipt.ledger) == (tx_hash, scene.ledger)


def test_an_upfront_job_whose_payment_landed_is_queued_and_woken(scene: Scene) -> None:
    claim = scene.claim(UPFRONT)
    tx_hash = scene.land(claim.payment)
    scene.reconcile()
    job = scene.job(claim)
    assert (job.status, job.charged) == (Status.QUEUED, True)
    assert job.receipt is not None
    assert job.receipt.transaction == tx_hash
    assert scene.wakeups.handled == [claim.id]


def test_a_lost_reply_before_anything_was_sent_stays_open_until_the_payment_expires(scene: Scene) -> None:
    claim = scene.claim()
    scene.state.close(VALID_LEDGERS)
    verdict, reason = scene.decide(claim)
    assert (scene.ledger, verdict) == (claim.job.terms.expiration_ledger, "undecided")
    assert "can be made until" in reason
    scene.state.close()
    assert scene.decide(claim)[0] == "unpaid"


@pytest.mark.parametrize("charge", [ON_SUCCESS, UPFRONT])
def test_a_payment_that_never_lands_fails_uncharged_and_gives_no_output_away(
    scene: Scene, charge: ChargePolicy
) -> None:
    claim = scene.claim(charge)
    scene.expire()
    scene.reconcile()
    job = scene.job(claim)
    assert (job.status, job.error, job.charged) == (Status.FAILED, ErrorCode.PAYMENT_FAILED, False)
    assert (job.output, job.receipt) == (None, None)


def test_a_payment_that_the_step_took_failed_is_paid_when_it_landed(scene: Scene) -> None:
    """`*_transaction_failed` comes with a hash also when polling ran out (facts D1)."""
    payment = scene.sign()
    envelope = scene.build(payment)
    claim = scene.claim(payment=payment, hint=envelope.hash_hex())
    assert scene.send(envelope) == envelope.hash_hex()
    assert scene.decide(claim)[0] == "paid"


def test_a_payment_may_land_in_its_last_ledger(scene: Scene) -> None:
    claim = scene.claim()
    scene.state.close(VALID_LEDGERS - 1)
    scene.land(claim.payment)
    assert scene.ledger == claim.job.terms.expiration_ledger
    assert scene.decide(claim)[0] == "paid"


def test_a_failed_transaction_leaves_the_payment_open(scene: Scene) -> None:
    payment = scene.sign()
    envelope = scene.build(payment)
    claim = scene.claim(payment=payment, hint=envelope.hash_hex())
    scene.send(envelope, fails=True)
    assert scene.decide(claim)[0] == "undecided"
    scene.expire()
    assert scene.decide(claim)[0] == "unpaid"


def test_a_stranger_may_submit_again_what_failed_and_his_transaction_is_the_receipt(scene: Scene) -> None:
    stranger, payment = Keypair.random(), scene.sign()
    scene.state.fund(stranger.public_key)
    envelope = scene.build(payment)
    claim = scene.claim(payment=payment, hint=envelope.hash_hex())
    scene.send(envelope, fails=True)
    theirs = scene.land(payment, stranger)
    scene.reconcile()
    job = scene.job(claim)
    assert job.receipt is not None
    assert (job.status, job.receipt.transaction) == (Status.SUCCEEDED, theirs)
    assert scene.received() == PRICE


@pytest.mark.parametrize("known", ["outer", "inner", "neither"])
def test_a_fee_bumped_settlement_is_unwrapped(scene: Scene, known: str) -> None:
    payment, sponsor = scene.sign(), Keypair.random()
    scene.state.fund(sponsor.public_key)
    inner = scene.build(payment)
    passphrase = PASSPHRASES[TESTNET]
    bump = TransactionBuilder.build_fee_bump_transaction(sponsor, 60_000, inner, passphrase)
    bump.sign(sponsor)
    hints = {"outer": bump.hash_hex(), "inner": inner.hash_hex(), "neither": ""}
    claim = scene.claim(payment=payment, hint=hints[known])
    scene.send(bump)
    scene.reconcile()
    receipt = scene.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == bump.hash_hex()


@pytest.mark.parametrize("arm", ["address", "address_v2", "address_with_delegates"])
def test_credentials_of_every_arm_are_found(scene: Scene, arm: str) -> None:
    claim = scene.claim(arm=arm)
    tx_hash = scene.land(claim.payment)
    scene.reconcile()
    receipt = scene.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash


def test_a_paid_job_whose_output_is_lost_is_never_called_unpaid(scene: Scene) -> None:
    claim = scene.claim(output=False)
    scene.land(claim.payment)
    verdict, reason = scene.decide(claim)
    assert (verdict, scene.job(claim).status) == ("undecided", Status.PAYMENT_UNCERTAIN)
    assert reason.endswith("but the output is missing")


@pytest.mark.parametrize("mode", ["http500", "reset", "timeout"])
def test_while_the_rpc_is_down_nothing_is_decided_and_it_is_asked_once(scene: Scene, mode: str) -> None:
    claims = [scene.claim() for _ in range(3)]
    scene.land(claims[0].payment)
    scene.expire()
    scene.faults.add("rpc_down", mode=mode, seconds=0.1)
    report = scene.reconcile()
    assert report.counts == {"undecided": 3}
    assert all("no answer from the RPC" in decision.reason for decision in report.decisions)
    assert scene.asked.total() == 1
    scene.faults.clear()
    assert scene.reconcile().counts == {"paid": 1, "unpaid": 2}


def test_an_rpc_that_goes_away_in_the_middle_leaves_the_rest_undecided(scene: Scene) -> None:
    """It is not asked again in this run: each call to a dead RPC may take its whole time-out."""
    claims = [scene.claim() for _ in range(3)]
    for claim in claims:
        scene.land(claim.payment)
    scene.faults.add("rpc_down", method="getTransaction")
    assert scene.reconcile().counts == {"undecided": 3}
    assert scene.asked["getTransaction"] == 1
    scene.faults.clear()
    assert scene.reconcile().counts == {"paid": 3}


def test_a_lagging_rpc_decides_nothing_before_its_own_ledger_is_past_the_expiration(scene: Scene) -> None:
    claim = scene.claim()
    scene.land(claim.payment)
    scene.expire()
    scene.faults.add("lag", ledgers=VALID_LEDGERS + 2)
    verdict, reason = scene.decide(claim)
    assert verdict == "undecided"
    assert f"the RPC is at {scene.ledger - VALID_LEDGERS - 2}" in reason
    scene.faults.clear()
    assert scene.decide(claim)[0] == "paid"


def test_an_rpc_of_another_network_decides_nothing(scene: Scene) -> None:
    claim = scene.claim()
    scene.expire()
    scene.rpcs[0].passphrase = lambda: "Public Global Stellar Network ; September 2015"  # type: ignore[method-assign]
    assert scene.decide(claim)[1].endswith("the RPC serves another network")
