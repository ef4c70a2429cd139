"""Payments that our payer signs, judged by the chain and by our own offline check."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
from stellar_sdk import Keypair

from provider.chain.pace import read_pace
from provider.chain.rpc import StellarRpc
from provider.client import Signer, sign_payment
from provider.errors import PaymentRejected
from provider.payments.stellar.check import check_payment, identify_payment
from provider.payments.stellar.envelope import decode
from tests.support.localnet import LocalNet, running_localnet


@pytest.fixture
def quick() -> Iterator[LocalNet]:
    """A chain that closes ledgers by itself."""
    with running_localnet(close_seconds=0.2) as network:
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


@pytest.mark.parametrize(("ledger_seconds", "rounded"), [(4.5, 5), (5.0, 5), (5.3, 6), (6.5, 7)])
def test_a_payment_is_signed_at_the_pace_that_was_measured(ledger_seconds: float, rounded: int) -> None:
    """Red before: 5 s a ledger at every pace, which the reference facilitator refuses above 5.0."""
    with running_localnet(manual=True) as net:
        net.state.config = replace(net.state.config, ledger_seconds=ledger_seconds)
        net.state.close(2000)
        offer, latest = net.requirements(max_timeout_seconds=300), net.state.latest.sequence
        payment = net.payment(offer, ledger_seconds=None)
    expiration = decode(payment.transaction).authorization().expiration_ledger
    assert expiration == latest + math.ceil(300 / rounded)


def test_the_events_of_the_last_ledgers_say_how_long_they_took(quick: LocalNet) -> None:
    """On a chain with traffic the week before does not count."""
    rpc = StellarRpc(quick.chain.url)
    assert read_pace(rpc).rounded_up == 1
    assert quick.settle(quick.payment())["success"] is True
    quick.state.config = replace(quick.state.config, ledger_seconds=6.2)
    quick.state.close(16)
    assert read_pace(rpc).rounded_up in (6, 7)


def test_a_key_that_is_kept_elsewhere_signs_as_well(net: LocalNet) -> None:
    signer = Signer.of_account(net.buyer.public_key, net.buyer.sign)
    offer = net.requirements()
    payment = sign_payment(offer, signer, rpc_url=net.chain.url)
    checked = check_payment(payment, [offer], latest_ledger=net.state.latest.sequence)
    assert (checked.payer, checked.signature_checked) == (net.buyer.public_key, True)
