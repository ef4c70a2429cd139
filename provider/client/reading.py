"""Read what a seller answers. Nothing here raises: by now money may have been spent."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from provider.client.exchange import HttpReply
from provider.errors import CallError
from provider.payments.headers import MAX_SIGNATURE_CHARS, decode_object
from provider.payments.models import SettlementResponse

JOB_STATUSES = frozenset(
    {"pending", "queued", "running", "payment_uncertain", "succeeded", "failed", "cancelled"}
)
FINAL = frozenset({"succeeded", "failed", "cancelled"})
CHARGES = frozenset({"on-success", "upfront"})
FOR_NOW = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Without a job in the body these say nothing about the payment: the same call is sent again."""
MOST_TEXT = 500


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Where a seller that runs this software serves a call (standard §2)."""

    service: str
    base: str
    """What is in front of `/run/<service>`."""

    @classmethod
    def of(cls, url: str) -> "ServiceAddress | None":
        """Take the URL of a call apart; None when it is no such address."""
        parts = urlsplit(url)
        before, run, service = parts.path.rstrip("/").rpartition("/run/")
        if not run or not service or "/" in service:
            return None
        return cls(service, f"{parts.scheme}://{parts.netloc}{before}")

    def job_url(self, job_id: str) -> str:
        return f"{self.base}/jobs/{job_id}"


def job_of(reply: HttpReply, address: ServiceAddress | None) -> dict[str, Any] | None:
    """Return the job object of our kind of seller (J5), and no other object that looks a little like one."""
    return job_in(json_of(reply), address)


def job_in(body: Any, address: ServiceAddress | None) -> dict[str, Any] | None:
    """Return a JSON value if it is a job of the service that was called."""
    if address is None or not isinstance(body, dict):
        return None
    texts = [body.get(name) for name in ("id", "service", "charge", "status", "createdAt")]
    if not all(isinstance(text, str) for text in texts):
        return None
    job_id, service, charge, status = (str(text) for text in texts[:4])
    ours = service == address.service and job_id.startswith(f"{service}.") and "/" not in job_id
    return body if ours and charge in CHARGES and status in JOB_STATUSES else None


def settlement_of(reply: HttpReply) -> SettlementResponse | None:
    """Read PAYMENT-RESPONSE; fields of another type are left out, and `success` counts as a boolean only."""
    try:
        found = decode_object(reply.headers.get("payment-response", ""), max_chars=MAX_SIGNATURE_CHARS)
    except CallError:
        return None
    names = ("transaction", "network", "payer", "errorReason", "errorMessage")
    texts = {name: found[name] for name in names if isinstance(found.get(name), str)}
    return SettlementResponse(
        success=found.get("success") is True,
        network=texts.get("network", ""),
        transaction=texts.get("transaction", ""),
        payer=texts.get("payer"),
        error_reason=texts.get("errorReason"),
        error_message=texts.get("errorMessage"),
    )


def json_of(reply: HttpReply) -> Any:
    """Read JSON; None when it is none."""
    try:
        return json.loads(reply.content)
    except (ValueError, RecursionError):
        return None


def output_of(reply: HttpReply) -> Any:
    """Return what a seller delivered: a JSON value, text, or bytes, by its media type."""
    kind = reply.media_type
    if kind == "application/json" or kind.endswith("+json"):
        value = json_of(reply)
        if value is not None or reply.content.strip() == b"null":
            return value
    if kind.startswith("text/") or "json" in kind:
        return reply.content.decode("utf-8", "replace")
    return reply.content


def retry_after(reply: HttpReply | None, now: float) -> float | None:
    """Seconds of Retry-After, which may be a date; `now` in Unix seconds."""
    text = reply.headers.get("retry-after", "").strip() if reply else ""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def refusal_reason(reply: HttpReply) -> str:
    """The machine's word for a refused payment: of the settlement, or of the 402."""
    settlement = settlement_of(reply)
    if settlement and settlement.error_reason:
        return settlement.error_reason
    body = json_of(reply)
    error = (_challenge(reply) or (body if isinstance(body, dict) else {})).get("error")
    return error if isinstance(error, str) else ""


def problem_text(reply: HttpReply) -> str:
    """The gist of a refusal: the detail of a problem, or the `error` of a 402."""
    body = json_of(reply)
    found = body if isinstance(body, dict) else _challenge(reply)
    texts = [found[name] for name in ("detail", "error", "title") if isinstance(found.get(name), str)][:1]
    fields = found.get("fields")
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict):
            texts.append(f"{field.get('field') or 'it'} {field.get('message')}")
    gist = "; ".join(texts) or moved(reply) or "no reason is given"
    return f"{reply.status}: {printable(gist, MOST_TEXT)}"


def printable(text: str, most: int) -> str:
    """Cut a seller's text, which may be anything, and take out what a terminal would obey."""
    shown = "".join(char if char.isprintable() else "?" for char in text[: most + 1])
    return shown if len(text) <= most else shown[: most - 1] + "…"


def moved(reply: HttpReply) -> str:
    """Say where a redirect leads: it is not followed, a payment is for the service that was named."""
    if not 300 <= reply.status < 400:
        return ""
    return f"it redirects to {reply.headers.get('location', 'nowhere')}, which is not followed"


def _challenge(reply: HttpReply) -> Mapping[str, Any]:
    try:
        return decode_object(reply.headers.get("payment-required", ""), max_chars=64 * 1024)
    except CallError:
        return {}
