"""The one way from a paid request to a job, whichever door it came through (H2)."""

from collections.abc import Callable
from functools import partial
from typing import Any

from flask import request

from provider.jobs.claim.paid_call import Caller
from provider.payments.models import PaymentPayload
from provider.payments.stellar.proof import HEADER as PAYER_PROOF
from provider.services import Service
from provider.web.http.client_address import client_address
from provider.web.parts import parts
from provider.web.views import View, view_of


def buy(
    name: str,
    payload: PaymentPayload,
    read: Callable[[Service], dict[str, Any]],
    read_again: Callable[[str], dict[str, Any]],
) -> View:
    """Turn a payment into a job, or show the job it became before; raises what `ClaimDesk.call` raises.

    `read` gives the input; `read_again` does where the service was withdrawn, by the input of its job (J3).
    """
    desk, listing = parts().desk, parts().listings.get(name)
    if listing is None:
        job = desk.replays.of_withdrawn(name, payload, read_again, caller())
    else:
        job = desk.call(listing.service, partial(read, listing.service), payload, caller())
    return view_of(job, parts().place(job))


def caller() -> Caller:
    """Take from the request what it shows of its sender."""
    address = client_address(request, parts().settings.client_address)
    return Caller(request.headers.get(PAYER_PROOF), address)
