"""The job object on the wire (J5)."""

import json
from datetime import UTC, datetime
from typing import Any

from provider.jobs.model.job import Job, Place
from provider.jobs.model.status import MESSAGES, RETRYABLE, Status
from provider.payments.models import Receipt


def dump_job(job: Job, place: Place | None = None) -> dict[str, Any]:
    """Build the job object. Its output is in there only once the job succeeded (J14)."""
    wire = {
        "id": job.id,
        "service": job.service,
        "charge": job.charge.value,
        "status": job.status.value,
        "createdAt": wire_time(job.created_at_ms),
        "startedAt": wire_time(job.started_at_ms),
        "finishedAt": wire_time(job.finished_at_ms),
        "attempt": job.attempt,
        "queue": _place(place),
        "progress": dict(job.progress) or None,
        "cancelAsked": (job.cancel and not job.is_final) or None,
        "error": _error(job),
        "payment": _receipt(job.receipt),
        "settlement": dict(job.settlement) or None,
    }
    known = {name: value for name, value in wire.items() if value is not None}
    if job.status is Status.SUCCEEDED and job.output is not None:
        known["output"] = json.loads(job.output)
    return known


def wire_time(ms: int | None) -> str | None:
    if ms is None:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _place(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {"position": place.position, "estimatedStartSeconds": place.estimated_start_seconds}


def _error(job: Job) -> dict[str, Any] | None:
    if job.error is None:
        return None
    return {
        "code": job.error.value,
        "message": MESSAGES[job.error],
        "charged": job.charged,
        "retryable": job.error in RETRYABLE,
    }


def _receipt(receipt: Receipt | None) -> dict[str, Any] | None:
    if receipt is None:
        return None
    wire = {
        "network": receipt.network,
        "transaction": receipt.transaction,
        "payer": receipt.payer,
        "amount": str(receipt.amount),
        "asset": receipt.asset,
        "ledger": receipt.ledger,
    }
    return {name: value for name, value in wire.items() if value is not None}
