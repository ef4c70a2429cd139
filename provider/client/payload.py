"""The payload of a payment: the offer as it was made, and the seller's extensions echoed (x402 v2)."""

from collections.abc import Mapping
from typing import Any

from provider.client.offers import Offer
from provider.payments.models import X402_VERSION

IDENTIFIER = "payment-identifier"


def payload_of(
    offer: Offer, challenge: Mapping[str, Any], transaction: str, identifier: str
) -> dict[str, Any]:
    """Build the PaymentPayload.

    `accepted` and `resource` are what the seller sent, with fields that only the seller knows. The payment
    is named where the seller declares the extension for it, so that the payment, which is public once it is
    settled, is not enough for others to ask for the job (J3).
    """
    payload: dict[str, Any] = {"x402Version": X402_VERSION}
    if isinstance(challenge.get("resource"), dict):
        payload["resource"] = challenge["resource"]
    payload |= {"accepted": dict(offer.wire), "payload": {"transaction": transaction}}
    extensions = echoed(challenge.get("extensions"), identifier)
    return payload | ({"extensions": extensions} if extensions else {})


def echoed(declared: Any, identifier: str) -> dict[str, Any]:
    """Repeat the extensions of a 402, as buyers must, with the payment's identifier if one is declared."""
    if not isinstance(declared, Mapping):
        return {}
    found = dict(declared)
    if isinstance(extension := found.get(IDENTIFIER), Mapping):
        found[IDENTIFIER] = {**extension, **named(extension, identifier)}
    return found


def named(extension: Mapping[str, Any], identifier: str) -> dict[str, Any]:
    """Return the `info` of the payment-identifier extension with an id in it."""
    info = extension.get("info")
    return {"info": {**(info if isinstance(info, Mapping) else {}), "id": identifier}}
