"""A watcher of the chain asks for the output that somebody paid for (issue 9.2).

All of a settled envelope can be read or guessed: source, sequence, fee and one of a few time bounds. Before
these rules the first guess had the job id, the right to cancel, and the output.
"""

import time
from dataclasses import replace
from typing import Any

import pytest
from stellar_sdk import Keypair, TransactionEnvelope

from provider.errors import PaymentMismatch
from provider.jobs.model.status import Status
from provider.jobs.store import claims
from provider.jobs.store.claims import MISMATCHES_ALLOWED
from provider.payments.models import PaymentPayload
from provider.payments.stellar.check import identify_payment
from provider.payments.stellar.proof import make_proof
from tests.support.jobs import NETWORK, Platform
from tests.support.payments import PASSPHRASES

BUYER, STRANGER = "198.51.100.7", "203.0.113.9"
WALLET = "CAAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQC526"
ORDER = "order-0123456789"


def rewrapped(payment: PaymentPayload) -> PaymentPayload:
    """Put the same authorisation into another envelope."""
    envelope = TransactionEnvelope.from_xdr(payment.transaction, PASSPHRASES[NETWORK])
    envelope.transaction.fee += 1
    return replace(payment, transaction=envelope.to_xdr())


def proof_by(key: Keypair, platform: Platform, payment: PaymentPayload) -> str:
    nonce = identify_payment(payment).nonce
    url = platform.settings.public_url
    return make_proof(key, service="after", nonce=nonce, public_url=url, now=time.time())


def refusal(platform: Platform, *args: Any, **given: Any) -> str:
    """Buy, and return why that was refused."""
    with pytest.raises(PaymentMismatch) as caught:
        platform.buy(*args, **given)
    return caught.value.detail


@pytest.mark.parametrize("name", ["after", "before"])
def test_the_whole_envelope_is_no_right_once_it_may_be_public(platform: Platform, name: str) -> None:
    """Red before: the stranger had the job. The buyer's own client, unmodified, still gets its result."""
    payment = platform.payment(name)
    done = platform.finish(platform.buy(name, payment=payment, address=BUYER))
    assert done.status is Status.SUCCEEDED
    for address in (STRANGER, ""):
        assert done.id not in refusal(platform, name, payment=payment, address=address)
    assert platform.buy(name, payment=payment, address=BUYER) == done


def test_it_is_no_right_as_soon_as_the_settlement_begins(platform: Platform) -> None:
    """Red before. Until then only the buyer has it, from whatever address it asks."""
    payment = platform.payment("before")
    job = platform.buy("before", payment=payment, address=BUYER)
    assert platform.buy("before", payment=payment, address=STRANGER) == job
    assert platform.store.begin_settlement(platform.job(job), "settler", give_up_seconds=60)
    refusal(platform, "before", payment=payment, address=STRANGER)


def test_an_address_is_known_for_five_minutes(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses pass from one client to the next; after that only the payer itself asks again."""
    monkeypatch.setattr(claims, "SAME_CLIENT_SECONDS", 0)
    payer = Keypair.random()
    payment = platform.payment(keypair=payer)
    done = platform.finish(platform.buy(payment=payment, address=BUYER))
    assert "PAYER-PROOF" in refusal(platform, payment=payment, address=BUYER)
    proof = proof_by(payer, platform, payment)
    assert platform.buy(payment=payment, proof=proof, address=STRANGER) == done


def test_no_address_is_kept(platform: Platform) -> None:
    """The claim holds a keyed digest, of this claim alone."""
    platform.buy(address=BUYER)
    platform.buy(address=BUYER)
    client = platform.store.client
    found = [client.hget(key, "client") for key in client.scan_iter("provider:{claim:*")]
    assert len(set(found)) == 2
    assert all(found)
    assert BUYER not in str(found)


def test_a_stranger_learns_nothing_about_the_input(platform: Platform) -> None:
    """Red before: the right input was answered otherwise than the wrong ones, which were not counted."""
    payment = platform.payment()
    platform.finish(platform.buy("after", {"card": 4711}, payment, address=BUYER))
    guesses = [{"card": number} for number in (4709, 4710, 4711)]
    answers = {refusal(platform, "after", guess, payment, address=STRANGER) for guess in guesses}
    assert len(answers) == 1


def test_wrong_inputs_count(platform: Platform) -> None:
    """Red before: a dictionary could be tried. Guesses that count are those of a client that has a right."""
    payer = Keypair.random()
    payment = platform.payment(keypair=payer)
    job = platform.finish(platform.buy("after", {"card": 4711}, payment, address=BUYER))
    for number in range(MISMATCHES_ALLOWED):
        refusal(platform, "after", {"card": number}, payment, address=BUYER)
    refusal(platform, "after", {"card": 4711}, payment, address=BUYER)
    proof = proof_by(payer, platform, payment)
    assert platform.buy("after", {"card": 4711}, payment, proof, address=BUYER) == job


def test_forged_envelopes_lock_nobody_out(platform: Platform) -> None:
    """Red before: three envelopes that only name the payer's nonce made his own retry fail."""
    nonce = 4_711
    payer, forger = Keypair.random(), Keypair.random()
    payment = platform.payment(keypair=payer, nonce=nonce)
    job = platform.buy(payment=payment)
    forged = platform.payment(keypair=forger, nonce=nonce, payer=payer.public_key)
    assert identify_payment(forged).payer == payer.public_key
    for _ in range(MISMATCHES_ALLOWED + 1):
        refusal(platform, payment=forged)
    assert platform.buy(payment=payment) == job
    for _ in range(MISMATCHES_ALLOWED):
        refusal(platform, payment=rewrapped(payment))
    refusal(platform, payment=payment)


def test_a_smart_wallets_signer_proves_for_it(platform: Platform) -> None:
    """Red before: a contract could prove nothing. Only a key that signed the payment counts."""
    signer = Keypair.random()
    payment = platform.payment(keypair=signer, payer=WALLET)
    done = platform.finish(platform.buy(payment=payment, address=BUYER))
    assert done.terms.payer == WALLET
    for key in (Keypair.random(), None):
        proof = proof_by(key, platform, payment) if key else None
        refusal(platform, payment=payment, proof=proof, address=STRANGER)
    proof = proof_by(signer, platform, payment)
    assert platform.buy(payment=payment, proof=proof, address=STRANGER) == done


def test_identifiers_of_two_payers_are_two(platform: Platform) -> None:
    """Red before: whoever sent an identifier first kept it from everybody else (also issue 10.15b)."""
    jobs = [platform.buy(payment=platform.payment(identifier=ORDER)) for _ in range(2)]
    assert jobs[0] != jobs[1]


def test_an_identifier_is_enough_from_anywhere(platform: Platform) -> None:
    """It is in no envelope: buyer, facilitator and provider alone know it."""
    payment = platform.payment(identifier=ORDER)
    done = platform.finish(platform.buy(payment=payment, address=BUYER))
    assert platform.buy(payment=payment, address=STRANGER) == done
    refusal(platform, payment=replace(payment, extensions={}), address=BUYER)
