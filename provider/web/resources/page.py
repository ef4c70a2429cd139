"""A job as a page for people: the job object in words, kept up to date by its event stream."""

import json
import re
import secrets
from typing import Any

from flask import Response, render_template

from provider.jobs.model.job import Job, Place
from provider.jobs.model.status import Status
from provider.jobs.model.wire import dump_job
from provider.networks import token_units
from provider.payments.headers import PAYMENT_RESPONSE, encode_payment_response
from provider.services import Service
from provider.settings import Settings
from provider.web.http.answers import settlement_of
from provider.web.resources.catalogue import currency
from provider.web.views import event_id

MOST_SHOWN = 50_000
"""Characters of an output on the page; the whole is a link away."""
MOST_IMAGE = 2_000_000
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")

POLICY = (
    "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
"""The address of a job is the key to it, so it appears in no log and no referrer."""

HEADLINES = {
    Status.PENDING: ("Payment being settled", "The work begins as soon as the payment is certain."),
    Status.QUEUED: ("Waiting", "It starts by itself when its turn comes."),
    Status.RUNNING: ("Running", "The work is under way."),
    Status.PAYMENT_UNCERTAIN: (
        "Payment not certain yet",
        "The network has not said yet whether the payment went through. Do not pay again: it will be known.",
    ),
    Status.SUCCEEDED: ("Done", "The work succeeded."),
    Status.FAILED: ("Failed", ""),
    Status.CANCELLED: ("Cancelled", ""),
}


def job_page(job: Job, place: Place | None, service: Service | None, settings: Settings) -> Response:
    """Show a job. Its output is there once it succeeded, never before (J14)."""
    headline, about = HEADLINES[job.status]
    response = _page(
        "job.html",
        job=dump_job(job, place),
        pays_first=job.charge.pays_first,
        event=event_id(job, place),
        is_final=job.is_final,
        headline=headline,
        about=about,
        percent=_percent(job),
        paid=_paid(job, settings),
        output=_output(job, service),
    )
    if settlement := settlement_of(job):
        response.headers[PAYMENT_RESPONSE] = encode_payment_response(settlement)
    return response


def missing_page(detail: str) -> Response:
    """Answer browsers that there is no such job."""
    response = _page("no_job.html", detail=detail)
    response.status_code = 404
    return response


def _page(template: str, **values: Any) -> Response:
    """Render a page that loads nothing from anywhere, and runs no script and no style but its own."""
    nonce = secrets.token_urlsafe(16)
    text = render_template(template, nonce=nonce, **values)
    response = Response(text, content_type="text/html; charset=utf-8")
    response.headers.update({**HEADERS, "Content-Security-Policy": POLICY.format(nonce=nonce)})
    return response


def _percent(job: Job) -> int | None:
    """Describe the progress, if the handler reported any."""
    done, total = (job.progress.get(name) for name in ("done", "total"))
    if job.is_final or not isinstance(done, int | float) or not isinstance(total, int | float) or total <= 0:
        return None
    return max(0, min(100, int(100 * done / total)))


def _paid(job: Job, settings: Settings) -> dict[str, str] | None:
    """Put the receipt in words, with a link to a block explorer where there is one."""
    receipt = job.receipt
    if receipt is None:
        return None
    return {
        "amount": f"{token_units(receipt.amount)} {currency(settings)}",
        "transaction": receipt.transaction,
        "explorer": settings.explorer_url.replace("{transaction}", receipt.transaction),
        "payer": receipt.payer,
        "network": receipt.network,
        "ledger": str(receipt.ledger or ""),
    }


def _output(job: Job, service: Service | None) -> dict[str, Any] | None:
    """Prepare the output of a job that succeeded: its images, and its JSON without them."""
    if job.status is not Status.SUCCEEDED:
        return None
    value = json.loads(job.output or "null")
    images = _images(value, service)
    if images:
        value = {**value, **dict.fromkeys(images, "(the image above)")}
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return {"images": images, "text": text[:MOST_SHOWN], "is_cut": len(text) > MOST_SHOWN}


def _images(value: Any, service: Service | None) -> dict[str, str]:
    """Find the images at the top of an output, by what its schema says they are: name and data URL."""
    if service is None or not isinstance(value, dict):
        return {}
    found = {}
    for name, schema in service.output_schema.get("properties", {}).items():
        kind = schema.get("contentMediaType") if isinstance(schema, dict) else None
        text = value.get(name)
        if kind in IMAGES and isinstance(text, str) and len(text) <= MOST_IMAGE and _BASE64.fullmatch(text):
            found[name] = f"data:{kind};base64,{text}"
    return found
