"""Payments that our payer signs, judged by the chain and by our own offline check."""

import math
from collections.abc import Iterator

import pytest
from stellar_sdk import Keypair

from provider.errors import PaymentRejected
from provider.payments.stellar.check import check_payment, identify_payment
from tests.support.localnet import LocalNet, running_localnet


@pytest.fixture(scope="module")
def net() -> Iterator[LocalNet]:
    with running_localnet(manual=True) as network:
        yield network


@pytest.mark.parametrize(("credentials", "arm"), [("v1", "address"), ("v2", "address_v2")])
def test_a_payment_is_signed_for_exactly_what_was_offered(net: LocalNet, credentials: str, arm: str) -> None:
    offer = net.requirements()
    payment = net.payment(offer, credentials=credentials)
    checked = check_payment(payment, [offer], latest_ledger=net.state.latest.sequence)
    assert (checked.payer, checked.pay_to, checked.amount) == (
        net.buyer.public_key,
        offer.pay_to,
        offer.amount,
    )
    assert (checked.credentials, checked.signature_checked) == (arm, True)


@pytest.mark.parametrize("ledger_seconds", [1.0, 5.0, 5.8])
def test_a_payment_is_valid_for_as_many_ledgers_as_the_offer_takes(
    net: LocalNet, ledger_seconds: float
) -> None:
    offer, latest = net.requirements(max_timeout_seconds=61), net.state.latest.sequence
    payment = net.payment(offer, ledger_seconds=ledger_seconds)
    checked = check_payment(payment, [offer], latest_ledger=latest, ledger_seconds=ledger_seconds)
    assert checked.expiration_ledger == latest + math.ceil(61 / ledger_seconds)


def test_every_payment_has_a_nonce_of_its_own(net: LocalNet) -> None:
    assert len({identify_payment(net.payment()).nonce for _ in range(5)}) == 5


def test_a_payer_that_could_not_pay_learns_it_before_anything_is_sent(net: LocalNet) -> None:
    offer = net.requirements(pay_to=Keypair.random().public_key)
    with pytest.raises(PaymentRejected, match="HostError"):
        net.payment(offer)
