"""/llms.txt: how to buy here, for a model that has nothing but HTTP and a wallet."""

from collections.abc import Iterable

from flask import Blueprint, Response

from provider.networks import TOKEN_DECIMALS
from provider.settings import Settings
from provider.web.parts import Listing, parts

blueprint = Blueprint("llms", __name__)

_TEXT = """\
# {title}

> Services for software agents, paid per call by x402 (version 2, scheme exact) on {network}. No account.

## How to pay

1. POST the JSON input to the address of a service, without a payment. The answer is 402; its body, and its
   header PAYMENT-REQUIRED (base64), say the price (`accepts`). Amounts are in 10^-{decimals} of the token.
2. Sign the transfer for one of `accepts` with an x402 client for Stellar.
3. POST the same input again with the payment (base64 of its JSON) in the header PAYMENT-SIGNATURE.

## How to wait

200 has the job with its `output`. 202 is a job that goes on: GET the address in its header Location, with
the header `Prefer: wait=20`, until its `status` is succeeded, failed or cancelled. Looking is free. The
address is {url}/jobs/ID; the id alone gives access to the job. DELETE it to cancel.

## How to recover

- No answer, 5xx without a job, or 202: the payment may count. Send the same payment with the same input
  again: it is the same job, and nothing is paid twice. Never sign another payment for it.
- 402 to a payment: it was refused, `error` says why, nothing was taken. Only then sign anew.
- 400: the input does not fit, `detail` and `fields` say where. The same payment pays for the repaired call.
- 409: the payment bought something else, or its job was cancelled. Do not send it for another call.
- 503: no place now. Try again after the seconds in Retry-After, with the same payment if there is one.
- A failed job says in `error.charged` whether it was paid. An on-success service is never paid for it.

## Services

{services}

## More

- [OpenAPI]({url}/openapi.json): every request and answer, schemas included
- [Services]({url}/services): the same list as JSON, with examples and the wait now
- MCP (streamable HTTP): {url}/mcp sells the same services as tools
"""


@blueprint.get("/llms.txt")
def llms() -> Response:
    """Give the page, which was made at start."""
    return Response(parts().documents["llms"], content_type="text/plain; charset=utf-8")


def llms_text(listings: Iterable[Listing], settings: Settings) -> str:
    """Write the page."""
    return _TEXT.format(
        title=settings.public_url.partition("://")[2].rstrip("/"),
        network=settings.network,
        decimals=TOKEN_DECIMALS,
        url=settings.public_url.rstrip("/"),
        services="\n".join(map(_line, listings)),
    )


def _line(listing: Listing) -> str:
    service = listing.service
    paid = "before it works" if service.charge.pays_first else "after it succeeded"
    price = f"{service.price} of {listing.offer.asset}, taken {paid}"
    return f"- POST {listing.url}: {' '.join(service.description.split())} Price: {price}."
