"""The payment against the offer and the ledger (standard §4)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from stellar_sdk import Keypair

from provider.errors import PaymentRejected
from provider.payments.models import CheckedPayment, PaymentPayload, PaymentRequirements
from tests.support.payments import signed_payment
from tests.unit.payments.conftest import LATEST

Check = Callable[..., CheckedPayment]
Reason = Callable[..., str]
CONTRACT = "CAAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQC526"


@pytest.mark.parametrize(
    ("expiration", "options", "expected"),
    [
        (LATEST, {}, "simulation_failed"),
        (LATEST + 1, {}, None),
        (LATEST + 14, {}, None),
        (LATEST + 15, {}, "invalid_exact_stellar_signature_expiration_too_far"),
        (LATEST + 62, {"ledger_seconds": 1.0}, None),
        (LATEST + 63, {"ledger_seconds": 1.0}, "invalid_exact_stellar_signature_expiration_too_far"),
        (LATEST + 15, {"ledger_seconds": 4.9}, None),
        (LATEST + 8, {"needed_seconds": 41}, "invalid_exact_stellar_signature_expiration_too_soon"),
        (LATEST + 9, {"needed_seconds": 41}, None),
        (LATEST - 500, {"latest_ledger": None, "needed_seconds": 41}, None),
        (LATEST + 500, {"latest_ledger": None}, None),
    ],
)
def test_the_expiration_lies_between_what_is_needed_and_what_x402_allows(
    offer: PaymentRequirements, payer: Keypair, check: Check, reason: Reason, expiration: int,
    options: dict[str, Any], expected: str | None,
) -> None:  # fmt: skip
    """60 s are 12 ledgers of 5 s, with a tolerance of 2; nothing is compared without a clock."""
    payment = signed_payment(offer, payer, expiration)
    if expected is None:
        assert check(payment, **options).expiration_ledger == expiration
    else:
        assert reason(payment, **options) == expected


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_timeout_seconds", 3600),
        ("extra", {}),
        ("extra", {"areFeesSponsored": 1, "paymentFlow": "upfront"}),
        ("extra", {"areFeesSponsored": True, "paymentFlow": "upfront", "more": None}),
        ("amount", 1),
        ("pay_to", CONTRACT),
        ("asset", CONTRACT),
    ],
)
def test_what_was_accepted_must_be_what_is_offered(
    payment: PaymentPayload, reason: Reason, field: str, value: Any
) -> None:
    """The transfer fits the offer, but the buyer accepted something else; `1` is not `true`."""
    other = replace(payment.accepted, **{field: value})
    assert reason(replace(payment, accepted=other)) == "invalid_payment_requirements"


def test_extra_may_differ_in_key_order(payment: PaymentPayload, check: Check) -> None:
    """JSON objects have no order."""
    turned = dict(reversed(list(payment.accepted.extra.items())))
    assert check(replace(payment, accepted=replace(payment.accepted, extra=turned)))


def test_any_of_several_offers_will_do(
    payment: PaymentPayload, offer: PaymentRequirements, check: Check, reason: Reason
) -> None:
    """A service may sell for two assets; none for sale is a refusal, not a crash."""
    other = replace(offer, asset=CONTRACT, amount=7)
    assert check(payment, offers=[other, offer]).amount == 500_000
    assert reason(payment, offers=[other]) == "wrong_asset"
    assert reason(payment, offers=[]) == "invalid_payment_requirements"


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ({"scheme": "upto"}, "unsupported_scheme"),
        ({"network": "stellar:futurenet"}, "invalid_network"),
        ({"network": "eip155:8453"}, "invalid_network"),
        ({"network": "stellar:pubnet"}, "network_mismatch"),
    ],
)
def test_another_scheme_or_network_is_refused_by_name(
    payment: PaymentPayload, reason: Reason, accepted: dict[str, Any], expected: str
) -> None:
    """Before anything is decoded."""
    other = replace(payment, accepted=replace(payment.accepted, **accepted), transaction="?")
    assert reason(other) == expected


def test_the_unknown_network_is_named(payment: PaymentPayload, check: Check) -> None:
    """So that the buyer sees what was wrong."""
    other = replace(payment, accepted=replace(payment.accepted, network="stellar:futurenet"))
    with pytest.raises(PaymentRejected, match="stellar:futurenet"):
        check(other)


def test_only_version_2_is_understood(payment: PaymentPayload, reason: Reason) -> None:
    """Version 1 has no Stellar."""
    assert reason(replace(payment, x402_version=1)) == "invalid_x402_version"


def test_the_signature_is_for_one_network(
    payment: PaymentPayload, offer: PaymentRequirements, reason: Reason
) -> None:
    """A testnet signature, offered as one for pubnet."""
    pubnet = replace(offer, network="stellar:pubnet")
    assert reason(replace(payment, accepted=pubnet), offers=[pubnet]) == "simulation_failed"
