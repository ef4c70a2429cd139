"""The 402 answer of each service, spelled once at start: it is the answer given most often (standard H1)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response

from provider.errors import HeaderTooLarge
from provider.payments.headers import PAYMENT_REQUIRED, encode_payment_required
from provider.payments.identifier import declare_identifier
from provider.payments.models import PaymentRequirements
from provider.payments.schemas import payment_required
from provider.services import Service
from provider.strict_json import compact
from provider.web.http.bazaar import discovery_extension, is_consistent

UNPAID = "PAYMENT-SIGNATURE header is required; with a payment-identifier a lost answer can be had again"
ROOM_FOR_REASON = "x" * 200
"""The reason of a refused payment stands in the same place, and the header must still fit."""
MAX_DESCRIBED_CHARS = 3200
"""Descriptions stop here: a stock nginx takes 4 096 bytes of head, the other headers of a 402 are some 500.

A payment echoes the document, so that it stays below 8 000 characters, too.
"""


@dataclass(frozen=True, slots=True)
class Challenge:
    """What one method of one service answers while it is not paid."""

    document: Mapping[str, Any]
    header: str
    body: bytes

    def answer(self) -> Response:
        """Answer 402: the same JSON in the header and as body."""
        response = Response(self.body, 402, content_type="application/json")
        response.headers[PAYMENT_REQUIRED] = self.header
        response.headers["Cache-Control"] = "no-store"
        return response

    def because(self, reason: str) -> "Challenge":
        """Say why a payment was refused, in place of asking for one."""
        return spell({**self.document, "error": reason[: len(ROOM_FOR_REASON)]})


def spell(document: Mapping[str, Any]) -> Challenge:
    """Encode a challenge. Raises HeaderTooLarge."""
    return Challenge(document, encode_payment_required(document), compact(document))


def challenges(service: Service, offer: PaymentRequirements, url: str) -> Mapping[str, Challenge]:
    """Build the challenges of a service by method; HEAD shares GET's. Raises HeaderTooLarge."""
    get = _challenge(service, offer, url, "GET")
    return {"POST": _challenge(service, offer, url, "POST"), "GET": get, "HEAD": get}


def _challenge(service: Service, offer: PaymentRequirements, url: str, method: str) -> Challenge:
    """Take the most detailed description that leaves the head of the answer below 4 000 bytes."""
    for extensions in _descriptions(service, method):
        document = payment_required(
            url=url,
            description=service.description,
            mime_type=service.mime_type,
            accepts=[offer],
            error=UNPAID,
            extensions=extensions,
        )
        if _fits(document):
            return spell(document)
    return spell(document)  # Too large without any description: says by how much.


def _descriptions(service: Service, method: str) -> Iterator[dict[str, Any]]:
    identifier = declare_identifier()
    for detail in (2, 1, 0):
        extension = discovery_extension(service, method, detail=detail)
        if is_consistent(extension):
            yield identifier | {"bazaar": extension}
    yield identifier


def _fits(document: Mapping[str, Any]) -> bool:
    try:
        header = encode_payment_required({**document, "error": ROOM_FOR_REASON})
    except HeaderTooLarge:
        return False
    return len(header) <= MAX_DESCRIBED_CHARS
