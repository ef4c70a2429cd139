"""The discovery file of x402: one document for both of its paths, made at start.

`items` is the shape of the x402 draft `/.well-known/x402.json`; `version` and `resources` are what
x402scan reads at `/.well-known/x402`. The live 402 stays authoritative.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response

from provider.payments.models import X402_VERSION
from provider.web.http.outcome import outcome_example, outcome_schema
from provider.web.parts import Listing, parts

blueprint = Blueprint("discovery", __name__)


@blueprint.get("/.well-known/x402")
@blueprint.get("/.well-known/x402.json")
def well_known() -> Response:
    """List every paid resource with what it accepts."""
    return Response(parts().documents["discovery"], content_type="application/json")


def discovery_document(listings: Iterable[Listing], now: datetime | None = None) -> dict[str, Any]:
    """Build the document."""
    listings = list(listings)
    return {
        "x402Version": X402_VERSION,
        "version": 1,
        "lastUpdated": int((now or datetime.now(UTC)).timestamp()),
        "resources": [listing.url for listing in listings],
        "items": [_item(listing) for listing in listings],
    }


def _item(listing: Listing) -> dict[str, Any]:
    document = listing.challenges["POST"].document
    item = {
        "resource": document["resource"]
        | {"serviceName": listing.service.name, "tags": list(listing.service.tags)},
        "type": "http",
        "accepts": document["accepts"],
        "input": {"method": "POST", "bodyType": "json", "schema": listing.service.input_schema},
        "output": {"type": "json", "schema": outcome_schema(listing.service, listing.url)},
    }
    if listing.service.example_input is not None:
        item["input"]["example"] = listing.service.example_input
    if listing.service.example_output is not None:
        item["output"]["example"] = outcome_example(listing.service)
    return item
