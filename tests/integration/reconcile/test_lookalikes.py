"""What looks like a payment and is none, and payments that look odd (§10, 2, 4 and 5; facts A5.5, A5.6)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from stellar_sdk import Keypair, scval, xdr

from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.networks import PUBNET
from tests.support.reconciling import PRICE, VALID_LEDGERS, WINDOW, Scene

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_two_equal_payments_are_told_apart_by_their_nonces(scene: Scene) -> None:
    """Same payer, payee and amount: only one of them was settled."""
    first, second = scene.claim(), scene.claim()
    scene.land(second.payment)
    scene.expire()
    scene.reconcile()
    assert [scene.job(claim).status for claim in (first, second)] == [Status.FAILED, Status.SUCCEEDED]
    assert scene.received() == PRICE


def test_equal_payments_in_one_ledger_get_a_receipt_each(scene: Scene) -> None:
    claims = [scene.claim() for _ in range(5)]
    hashes = scene.land_all([claim.payment for claim in reversed(claims)])
    scene.reconcile()
    receipts = [scene.job(claim).receipt for claim in claims]
    assert [receipt and receipt.transaction for receipt in receipts] == hashes[::-1]
    assert (scene.asked["getEvents"], scene.asked["getTransaction"]) == (1, 5)


def test_an_equal_payment_in_the_range_does_not_pay_when_the_nonce_has_gone(scene: Scene) -> None:
    claim = scene.claim()
    scene.land(scene.sign())
    scene.state.close(WINDOW + VALID_LEDGERS)
    assert scene.decide(claim)[0] == "unpaid"
    assert scene.asked["getTransaction"] == 1


def test_a_foreign_transaction_named_by_the_facilitator_does_not_pay(scene: Scene) -> None:
    """A hash proves nothing: it may be that of another successful payment of the same amount."""
    foreign = scene.land(scene.sign())
    claim = scene.claim(hint=foreign)
    scene.expire()
    assert scene.decide(claim)[0] == "unpaid"
    old = scene.claim(hint=foreign)
    scene.state.close(WINDOW + VALID_LEDGERS + 1)
    assert scene.decide(old)[0] == "unpaid"


@pytest.mark.parametrize("hint", ["not a hash", "zz" * 32, "ab" * 31])
def test_a_hash_that_is_none_is_not_asked_for(scene: Scene, hint: str) -> None:
    claim = scene.claim(hint=hint)
    scene.state.close(WINDOW + 1)
    assert scene.decide(claim)[0] == "unpaid"
    assert scene.asked["getTransaction"] == 0


@pytest.mark.parametrize("lost_in", ["amount", "payee"])
def test_a_nonce_that_the_payer_used_for_another_call_does_not_pay(scene: Scene, lost_in: str) -> None:
    """A payer can sign one nonce twice and submit the call that suits him; ours can never run then."""
    claim = scene.claim()
    other = Keypair.random()
    scene.state.fund(other.public_key)
    change = {"amount": 1} if lost_in == "amount" else {"pay_to": other.public_key}
    scene.land(scene.sign(nonce=claim.nonce, **change))
    verdict, reason = scene.decide(claim)
    assert verdict == "unpaid"
    assert reason == f"the payer used the nonce for another call in ledger {scene.ledger}"


def test_an_equal_payment_in_the_same_ledger_does_not_vouch_for_a_misused_nonce(scene: Scene) -> None:
    claim, honest = scene.claim(), scene.sign()
    scene.land_all([scene.sign(nonce=claim.nonce, amount=1), honest])
    assert scene.decide(claim)[0] == "unpaid"


def test_a_ledger_that_does_not_show_how_the_nonce_was_used_decides_nothing(scene: Scene) -> None:
    """Such an RPC contradicts itself: its entry says used, its complete list of transactions says not."""
    claim = scene.claim()
    scene.land(claim.payment)
    scene.state.applied.clear()
    verdict, reason = scene.decide(claim)
    assert verdict == "undecided"
    assert "no transaction in it shows how" in reason


def test_an_rpc_that_cannot_list_transactions_is_not_believed_about_the_nonce(scene: Scene) -> None:
    """An entry does not say which call made it."""
    claim = scene.claim()
    scene.land(claim.payment)
    scene.faults.add("lose_events")
    for server in scene.servers:
        del server._plain.rpc._methods["getTransactions"]
    assert scene.decide(claim) == ("undecided", "no answer from the RPC: getTransactions: method not found")


def test_a_nonce_used_again_after_its_entry_has_gone_is_not_ours(scene: Scene) -> None:
    claim = scene.claim()
    scene.state.close(WINDOW + VALID_LEDGERS)
    scene.land(scene.sign(nonce=claim.nonce))
    assert scene.decide(claim)[0] == "unpaid"


def test_a_transaction_that_used_the_nonce_again_says_nothing_about_the_first_time(scene: Scene) -> None:
    claim = scene.claim()
    tx_hash = scene.land(claim.payment)
    scene.state.close(WINDOW + VALID_LEDGERS)
    again = scene.land(scene.sign(nonce=claim.nonce, amount=1))
    note = json.dumps({"transaction": again})
    scene.redis.hset(keys.job(claim.id), "settlement", note)
    scene.reconcile()
    receipt = scene.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash


def test_a_nonce_that_comes_free_before_the_payment_expires_decides_nothing(scene: Scene) -> None:
    """Its entry lives a day, the payment longer: the payer may yet pay."""
    claim = scene.claim(expiration=scene.ledger + 25_000)
    scene.land(scene.sign(nonce=claim.nonce, amount=1))
    verdict, reason = scene.decide(claim)
    assert (verdict, reason.endswith("may be able to use it again")) == ("undecided", True)


def test_a_payment_of_another_network_is_left_alone(scene: Scene) -> None:
    claim = scene.claim()
    scene.expire()
    terms = replace(claim.job.terms, network=PUBNET).dumps()
    scene.redis.hset(keys.job(claim.id), "terms", terms)
    assert scene.decide(claim) == ("undecided", f"the payment is on {PUBNET}, which is not configured")


def test_a_plain_token_gives_its_events_three_topics(scene: Scene) -> None:
    claim = scene.claim()
    tx_hash = scene.land(claim.payment)
    scene.rewrite_event(lambda event: event.topics.pop())
    scene.reconcile()
    receipt = scene.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash
    assert scene.asked["getTransactions"] == 0


def test_an_amount_beside_a_muxed_id_is_read(scene: Scene) -> None:
    """CAP-67: the data is a map, spelled as in a real testnet event."""
    claim = scene.claim()
    tx_hash = scene.land(claim.payment)
    real = json.loads((FIXTURES / "testnet_usdc_transfer_event_cap67_map.json").read_text())
    data = xdr.ContractEvent.from_xdr(real["contractEventXdr"]).body.v0
    assert data is not None
    assert data.data.map is not None
    data.data.map.sc_map[0].val = scval.to_int128(PRICE)
    scene.rewrite_event(lambda event: setattr(event, "data", data.data))
    scene.reconcile()
    receipt = scene.job(claim).receipt
    assert receipt is not None
    assert receipt.transaction == tx_hash
    assert scene.asked["getTransactions"] == 0
