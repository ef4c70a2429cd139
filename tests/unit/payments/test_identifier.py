"""The payment-identifier extension (standard H8)."""

from dataclasses import replace
from typing import Any

import pytest
from x402.extensions.payment_identifier import declare_payment_identifier_extension

from provider.errors import InvalidIdentifier
from provider.payments.identifier import declare_identifier, read_identifier
from provider.payments.models import PaymentPayload


def _with(payment: PaymentPayload, extension: Any) -> PaymentPayload:
    return replace(payment, extensions={"payment-identifier": extension})


@pytest.mark.parametrize("identifier", ["a" * 16, "A-_9" * 32, "pay_0123456789abcdef"])
def test_an_identifier_is_read(payment: PaymentPayload, identifier: str) -> None:
    """16 to 128 characters."""
    assert read_identifier(_with(payment, {"info": {"required": False, "id": identifier}})) == identifier


BROKEN = [
    "",
    "a" * 15,
    "a" * 129,
    "a" * 15 + ".",
    "a" * 16 + "\n",
    "ä" * 16,
    "a" * 15 + " ",
    10**16,
    True,
    [],
]


@pytest.mark.parametrize("identifier", BROKEN)
def test_an_identifier_that_breaks_the_rule_is_a_400(payment: PaymentPayload, identifier: Any) -> None:
    """Whatever the schema in the wild says."""
    with pytest.raises(InvalidIdentifier, match="16 to 128") as refusal:
        read_identifier(_with(payment, {"info": {"id": identifier}}))
    assert refusal.value.status == 400


@pytest.mark.parametrize("extension", [[], "id", 5, {}, {"info": []}, {"info": None}])
def test_an_extension_of_another_shape_is_a_400(payment: PaymentPayload, extension: Any) -> None:
    """Rather than being ignored: the buyer believes in it."""
    with pytest.raises(InvalidIdentifier, match="info"):
        read_identifier(_with(payment, extension))


def test_no_identifier_is_none_unless_one_is_required(payment: PaymentPayload) -> None:
    """An echoed declaration has no id."""
    for without in (payment, _with(payment, declare_identifier()["payment-identifier"])):
        assert read_identifier(without) is None
        with pytest.raises(InvalidIdentifier, match="wants"):
            read_identifier(without, required=True)


@pytest.mark.parametrize("required", [True, False])
def test_the_declaration_is_the_official_one(required: bool) -> None:
    """As the `x402` package declares it."""
    official = declare_payment_identifier_extension(required=required)
    assert declare_identifier(required=required) == {"payment-identifier": official}
