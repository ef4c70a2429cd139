"""The paid call: /run/<name> (standard H1, H2, H3)."""

import time
from functools import partial

from flask import Blueprint, Response, request

from provider.errors import PaymentRejected
from provider.payments.headers import PAYMENT_SIGNATURE, decode_payment_signature
from provider.web.calls import buy
from provider.web.held import held
from provider.web.http.body import read_input, read_input_again
from provider.web.http.prefer import parse_prefer
from provider.web.parts import Listing, parts

blueprint = Blueprint("run", __name__)


@blueprint.route("/run/<name>", methods=["GET", "POST"])
def run(name: str) -> Response:
    """Serve a paid call, or say what it costs; HEAD buys nothing, since it shows no output (H1)."""
    began, header = time.monotonic(), request.headers.get(PAYMENT_SIGNATURE)
    if header is None or request.method == "HEAD":
        return unpaid(parts().listing(name))
    return paid(name, header, began)


def unpaid(listing: Listing) -> Response:
    """Answer 402 whatever the body; a full lane answers instead that there is no place to pay for (H1)."""
    parts().desk.admits(listing.service)
    return listing.challenges[request.method].answer()


def paid(name: str, header: str, began: float) -> Response:
    """Turn the payment into a job, hold the answer as long as preferred, and show the job."""
    payload = decode_payment_signature(header)
    view = buy(name, payload, partial(read_input, request), partial(read_input_again, request))
    return held(view, parse_prefer(request.headers.get("Prefer", "")), call_began=began)


@blueprint.errorhandler(PaymentRejected)
def refused(error: PaymentRejected) -> Response:
    """Answer a payment that does not pay for this call with a challenge that says why (H2)."""
    assert request.view_args is not None
    listing = parts().listing(request.view_args["name"])
    return listing.challenges[request.method].because(error.reason).answer()
