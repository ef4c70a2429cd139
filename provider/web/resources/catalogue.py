"""Descriptors of services: what they cost, take and give (standard §2)."""

from collections.abc import Mapping
from typing import Any

from provider.networks import USDC
from provider.settings import Settings
from provider.web.parts import Listing


def currency(settings: Settings) -> str:
    """Name the token that prices are in: USDC, or the contract id of another one."""
    return "USDC" if settings.asset in USDC.values() else settings.asset


def describe(listing: Listing, settings: Settings) -> dict[str, Any]:
    """Describe one service, without what changes from second to second."""
    service, offer = listing.service, listing.offer
    return {
        "name": service.name,
        "description": service.description,
        "url": listing.url,
        "methods": ["POST", "GET"],
        "price": service.price,
        "currency": currency(settings),
        "charge": str(service.charge),
        "payment": {
            "network": offer.network,
            "asset": offer.asset,
            "amount": str(offer.amount),
            "payTo": offer.pay_to,
            "maxTimeoutSeconds": offer.max_timeout_seconds,
        },
        "inputSchema": service.input_schema,
        "outputSchema": service.output_schema,
        **_examples(listing),
        "limits": _limits(listing),
        "tags": list(service.tags),
    }


def _examples(listing: Listing) -> dict[str, Any]:
    examples = {"input": listing.service.example_input, "output": listing.service.example_output}
    given = {side: example for side, example in examples.items() if example is not None}
    return {"example": given} if given else {}


def _limits(listing: Listing) -> Mapping[str, Any]:
    service = listing.service
    return {
        "timeoutSeconds": service.timeout_seconds,
        "concurrency": service.concurrency,
        "maxQueued": service.max_queued,
        "maxWaitSeconds": service.max_wait_seconds,
        "maxInputBytes": service.max_input_bytes,
        "maxOutputBytes": service.max_output_bytes,
    }
