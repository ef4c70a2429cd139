"""Between the wire and the models."""

from collections.abc import Callable
from typing import Any

import pytest
from x402.schemas import PaymentPayload as OfficialPayload
from x402.schemas import PaymentRequired as OfficialRequired
from x402.schemas import SettleResponse as OfficialSettleResponse

from provider import errors
from provider.payments import schemas
from provider.payments.models import PaymentPayload, PaymentRequirements, Receipt
from tests.support.payments import payment_wire, requirements_wire


def test_requirements_are_spelled_as_x402_does(offer: PaymentRequirements) -> None:
    """The amount is a string of digits."""
    assert schemas.dump_requirements(offer) == requirements_wire(offer)
    assert schemas.load_requirements(requirements_wire(offer)) == offer


@pytest.mark.parametrize("amount", [500, 5.0, "", "-5", "+5", "5.0", "05", "٥", "1e3", " 5", "9" * 40, None])
def test_an_amount_is_a_string_of_digits(offer: PaymentRequirements, amount: Any) -> None:
    """Anything that another reader might read otherwise is refused."""
    with pytest.raises(errors.InvalidBody, match="amount"):
        schemas.load_requirements(requirements_wire(offer) | {"amount": amount})


@pytest.mark.parametrize("seconds", [0, -1, 60.0, 60.5, "60", True, None, 2**40])
def test_a_time_out_is_a_positive_integer(offer: PaymentRequirements, seconds: Any) -> None:
    """In seconds."""
    with pytest.raises(errors.InvalidBody, match="maxTimeoutSeconds"):
        schemas.load_requirements(requirements_wire(offer) | {"maxTimeoutSeconds": seconds})


def test_the_facilitator_is_shown_what_the_buyer_sent(payment: PaymentPayload) -> None:
    """Unknown fields included: a later x402 may need them."""
    sent = payment_wire(payment) | {"later": {"x": 1}}
    sent["payload"] |= {"memo": "m"}
    sent["accepted"] |= {"note": "n"}
    loaded = schemas.load_payload(sent)
    assert schemas.dump_payload(loaded) == sent
    assert loaded == payment


def test_null_is_read_as_absent(payment: PaymentPayload) -> None:
    """Python's official client writes its empty fields as null."""
    sent = payment_wire(payment) | {"resource": None, "extensions": None}
    assert schemas.load_payload(sent).extensions == {}


@pytest.mark.parametrize("obj", [[], "x", None, 5, {}, {"x402Version": 2, "accepted": [], "payload": []}])
def test_what_is_no_payload_is_an_invalid_header(obj: Any) -> None:
    """Whatever JSON it is."""
    with pytest.raises(errors.InvalidHeader):
        schemas.load_payload(obj)


def test_the_official_models_read_what_we_write(payment: PaymentPayload, offer: PaymentRequirements) -> None:
    """The names are those of the `x402` package."""
    OfficialPayload.model_validate(schemas.dump_payload(payment))
    body = schemas.payment_required(
        url="https://p.example/run/x", description="d", accepts=[offer], error="e", extensions={"bazaar": {}}
    )
    official = OfficialRequired.model_validate(body)
    assert (official.accepts[0].pay_to, official.accepts[0].amount) == (offer.pay_to, str(offer.amount))
    assert body["extensions"] == {"bazaar": {}}
    receipt = Receipt(offer.network, "ab" * 32, "GABC", offer.amount, offer.asset, 7)
    settled = OfficialSettleResponse.model_validate(schemas.receipt_response(receipt))
    assert (settled.success, settled.amount, settled.payer) == (True, str(offer.amount), "GABC")


def test_a_challenge_is_read_back(offer: PaymentRequirements) -> None:
    """By our own buyer."""
    body = schemas.payment_required(url="https://p.example/", description="d", accepts=[offer])
    challenge = schemas.load_payment_required(body)
    assert challenge.accepts == (offer,)
    with pytest.raises(errors.InvalidBody, match="x402Version"):
        schemas.load_payment_required(body | {"x402Version": 1})


def test_a_failed_settlement_says_why() -> None:
    """The answer of a 402 payment_failed (standard H5); empty fields are left out."""
    body = schemas.settlement_response(
        success=False, network="stellar:testnet", payer="GABC", error_reason="insufficient_funds"
    )
    assert body == {
        "success": False,
        "network": "stellar:testnet",
        "transaction": "",
        "payer": "GABC",
        "errorReason": "insufficient_funds",
    }
    assert schemas.load_settlement_response(body).error_reason == "insufficient_funds"


@pytest.mark.parametrize("load", [schemas.load_verify_response, schemas.load_settlement_response])
@pytest.mark.parametrize("yes", ["true", 1, 1.0, None, [], "yes"])
def test_only_a_boolean_is_a_yes(load: Callable[[Any], Any], yes: Any) -> None:
    """`"true"` and `1` are not."""
    with pytest.raises(errors.InvalidBody):
        load({"isValid": yes, "success": yes, "network": "stellar:testnet"})
