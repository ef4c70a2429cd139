"""Payments to take apart: a valid one, and ways to bend it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import Keypair, MuxedAccount, scval, xdr

from provider.payments.models import CheckedPayment, PaymentPayload, PaymentRequirements
from provider.payments.stellar.check import check_payment
from tests.support.payments import signed_payment

FIXTURES = Path(__file__).parents[2] / "fixtures"
LATEST = 1_000_019
EXPIRATION = LATEST + 12

Bend = Callable[[xdr.Transaction], Any]


def fixture(name: str) -> Any:
    """Read one of the recorded payments."""
    return json.loads((FIXTURES / name).read_text())


def bent(payment: PaymentPayload, bend: Bend) -> PaymentPayload:
    """Change the transaction of a payment, signatures left as they are."""
    envelope = xdr.TransactionEnvelope.from_xdr(payment.transaction)
    assert envelope.v1 is not None
    bend(envelope.v1.tx)
    return replace(payment, transaction=envelope.to_xdr())


def operation_of(transaction: xdr.Transaction) -> Any:
    return transaction.operations[0].body.invoke_host_function_op


def call_of(transaction: xdr.Transaction) -> Any:
    return operation_of(transaction).host_function.invoke_contract


def entry_of(transaction: xdr.Transaction) -> Any:
    return operation_of(transaction).auth[0]


def muxed(account: str) -> xdr.SCVal:
    """Spell the M address of an account as an argument."""
    return scval.to_address(str(MuxedAccount(account, 7).account_muxed))


@pytest.fixture
def payer() -> Keypair:
    return Keypair.from_raw_ed25519_seed(bytes(range(32)))


@pytest.fixture
def stranger() -> Keypair:
    return Keypair.from_raw_ed25519_seed(bytes(range(1, 33)))


@pytest.fixture
def offer() -> PaymentRequirements:
    return PaymentRequirements(
        network="stellar:testnet",
        asset="CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
        amount=500_000,
        pay_to="GDEERFUC6A6MRHQEGEXIRV57LOZ4DYQLHK5TAMMQM7QL7MWOHJATDKQS",
        max_timeout_seconds=60,
        extra={"areFeesSponsored": True, "paymentFlow": "upfront"},
    )


@pytest.fixture
def payment(offer: PaymentRequirements, payer: Keypair) -> PaymentPayload:
    return signed_payment(offer, payer, EXPIRATION, nonce=42)


@pytest.fixture
def check(offer: PaymentRequirements) -> Callable[..., CheckedPayment]:
    """Check against the one offer at ledger LATEST, unless told otherwise."""

    def run(payment: PaymentPayload, **options: Any) -> CheckedPayment:
        offers = options.pop("offers", [offer])
        latest_ledger = options.pop("latest_ledger", LATEST)
        return check_payment(payment, offers, latest_ledger=latest_ledger, **options)

    return run


@pytest.fixture
def reason(check: Callable[..., CheckedPayment]) -> Callable[..., str]:
    """Return the reason a payment is refused for, without its common beginning."""
    from provider.errors import PaymentRejected

    def run(payment: PaymentPayload, **options: Any) -> str:
        with pytest.raises(PaymentRejected) as refusal:
            check(payment, **options)
        assert refusal.value.status == 402
        assert len(refusal.value.detail) > 10
        return refusal.value.reason.removeprefix("invalid_exact_stellar_payload_")

    return run
