"""The paid call: /run/<name> (standard H1, H2, H3)."""

import time
from functools import partial

from flask import Blueprint, Response, g, request

from provider.errors import PaymentRejected
from provider.jobs.claim.paid_call import Caller
from provider.jobs.model.job import Job
from provider.payments.headers import PAYMENT_SIGNATURE, decode_payment_signature
from provider.payments.stellar.proof import HEADER as PAYER_PROOF
from provider.web.held import held
from provider.web.http.body import read_input, read_input_again
from provider.web.http.client_address import client_address
from provider.web.http.prefer import parse_prefer
from provider.web.parts import Listing, parts
from provider.web.views import view_of

blueprint = Blueprint("run", __name__)


@blueprint.route("/run/<name>", methods=["GET", "POST"])
def run(name: str) -> Response:
    """Serve a paid call, or say what it costs; HEAD buys nothing, since it shows no output (H1)."""
    g.call_began = time.monotonic()
    header, listing = request.headers.get(PAYMENT_SIGNATURE), parts().listings.get(name)
    if header is None or request.method == "HEAD":
        return unpaid(parts().listing(name))
    return withdrawn(name, header) if listing is None else paid(listing, header)


def unpaid(listing: Listing) -> Response:
    """Answer 402 whatever the body; a full lane answers instead that there is no place to pay for (H1)."""
    parts().desk.admits(listing.service)
    return listing.challenges[request.method].answer()


def paid(listing: Listing, header: str) -> Response:
    """Turn the payment into a job, and show it."""
    payload = decode_payment_signature(header)
    value = partial(read_input, request, listing.service)
    return shown(parts().desk.call(listing.service, value, payload, caller()))


def withdrawn(name: str, header: str) -> Response:
    """Show the job that a payment became while the service was sold (J3); else there is no such service."""
    payload = decode_payment_signature(header)
    value = partial(read_input_again, request)
    return shown(parts().desk.replays.of_withdrawn(name, payload, value, caller()))


def caller() -> Caller:
    """Take from the request what it shows of its sender."""
    address = client_address(request, parts().settings.client_address)
    return Caller(request.headers.get(PAYER_PROOF), address)


def shown(job: Job) -> Response:
    """Hold the answer as long as preferred, and show the job."""
    view = view_of(job, parts().place(job))
    return held(view, parse_prefer(request.headers.get("Prefer", "")), call_began=g.call_began)


@blueprint.errorhandler(PaymentRejected)
def refused(error: PaymentRejected) -> Response:
    """Answer a payment that does not pay for this call with a challenge that says why (H2)."""
    assert request.view_args is not None
    listing = parts().listing(request.view_args["name"])
    return listing.challenges[request.method].because(error.reason).answer()
