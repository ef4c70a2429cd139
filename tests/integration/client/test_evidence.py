"""What the chain says about a buyer's payment, whatever the seller says."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from provider.client import Payment
from provider.client.evidence import NOT_ASKED, ChainAnswer, ChainWitness, Standing
from provider.networks import PUBNET
from provider.payments.models import PaymentPayload
from provider.payments.stellar.check import identify_payment
from provider.payments.stellar.envelope import decode
from tests.support.localnet import LocalNet, running_localnet
from tests.unit.client.conftest import PAYMENT


@pytest.fixture
def net() -> Iterator[LocalNet]:
    with running_localnet(close_seconds=0.2) as network:
        yield network


@pytest.fixture
def signed(net: LocalNet) -> PaymentPayload:
    return net.payment()


@pytest.fixture
def payment(net: LocalNet, signed: PaymentPayload) -> Payment:
    terms, nonce = signed.accepted, identify_payment(signed).nonce
    expiration = decode(signed.transaction).authorization().expiration_ledger
    parties = {"pay_to": terms.pay_to, "payer": net.buyer.public_key, "amount": terms.amount}
    ledgers = {"expiration_ledger": expiration, "signed_ledger": net.state.latest.sequence}
    return replace(PAYMENT, asset=terms.asset, nonce=nonce, **parties, **ledgers)


def look(net: LocalNet, payment: Payment, transaction: str = "") -> ChainAnswer:
    return ChainWitness(net.chain.url).look(payment, transaction)


def test_a_payment_that_was_made_is_found_with_its_transaction(
    net: LocalNet, signed: PaymentPayload, payment: Payment
) -> None:
    transaction = net.settle(signed)["transaction"]
    for hint in (transaction, "", "ab" * 32, "no hash"):
        found = look(net, payment, hint)
        assert (found.standing, found.transaction) == (Standing.PAID, transaction), hint
        assert found.ledger is not None


def test_the_transaction_of_another_payment_proves_nothing(net: LocalNet, payment: Payment) -> None:
    """The same parties, the same amount."""
    other = net.settle(net.payment())["transaction"]
    assert look(net, payment, other).standing is Standing.OPEN


def test_a_payment_is_open_until_it_expires_and_then_proven_unmade(net: LocalNet, payment: Payment) -> None:
    assert look(net, payment).standing is Standing.OPEN
    net.state.close(payment.expiration_ledger - net.state.latest.sequence + 1)
    assert look(net, payment).standing is Standing.UNPAID


def test_a_short_payment_is_proven_unmade_without_the_networks_setting(
    net: LocalNet, payment: Payment
) -> None:
    """A nonce entry lives for 16 ledgers at least."""
    short = replace(payment, expiration_ledger=payment.signed_ledger + 5)
    net.state.close(short.signed_ledger + 6 - net.state.latest.sequence)
    assert look(net, short).standing is Standing.UNPAID


def test_an_old_payment_that_was_made_is_found_among_the_events(
    net: LocalNet, signed: PaymentPayload, payment: Payment
) -> None:
    """Its nonce entry is gone by then."""
    transaction = net.settle(signed)["transaction"]
    net.state.close(20_000)
    assert look(net, payment) == ChainAnswer(Standing.PAID, transaction, look(net, payment).ledger)


def test_an_rpc_of_another_network_proves_nothing(net: LocalNet, payment: Payment) -> None:
    assert look(net, replace(payment, network=PUBNET)) == NOT_ASKED


def test_an_rpc_that_is_away_proves_nothing(payment: Payment) -> None:
    assert ChainWitness("http://127.0.0.1:9").look(payment) == NOT_ASKED
