"""How a job is spelled in its Redis hash, and read back."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import structlog

from provider import strict_json
from provider.errors import RecordUnreadable
from provider.jobs.model.job import Job, Terms
from provider.jobs.model.status import ErrorCode, Status
from provider.payments.models import Receipt

log = structlog.get_logger()

UNREADABLE = "job_record_unreadable"

_INTS = frozenset(
    {"version", "created_at_ms", "expires_at_ms", "deadline_ms", "started_at_ms", "finished_at_ms", "starts"}
    | {"interruptions", "retries", "place", "lease_until_ms", "work_until_ms", "not_before_ms"}
    | {"settling_since_ms", "leased_at_ms", "moved_at_ms", "reported_at_ms"}
)


def job_from_hash(job_id: str, record: Mapping[str, str]) -> Job:
    """Build a Job from the record's fields; unknown fields are left alone (a newer release wrote them).

    Raises RecordUnreadable.
    """
    try:
        values: dict[str, Any] = {"input": ""}  # That of an uncharged job leaves the record with its end.
        values |= {f.name: _decode(f.name, record[f.name]) for f in fields(Job) if f.name in record}
        if "receipt" in values:
            values["receipt"] = values["terms"].receipt(*values["receipt"])
        return Job(id=job_id, **values)
    except (ValueError, TypeError, KeyError) as error:
        raise RecordUnreadable(f"The record of job {job_id} cannot be read: {error!r}.") from error


def job_from_flat(job_id: str, flat: list[str]) -> Job:
    """Build a Job from what HGETALL gives inside a script: field, value, …"""
    return job_from_hash(job_id, dict(zip(flat[::2], flat[1::2], strict=True)))


def readable(records: Mapping[str, Mapping[str, str]]) -> list[Job]:
    """Build those Jobs that can be built, by id, and log the others as errors; an empty record is no job."""
    jobs = []
    for job_id, record in records.items():
        try:
            jobs += [job_from_hash(job_id, record)] if record else []
        except RecordUnreadable as error:
            log.error(UNREADABLE, job_id=job_id, detail=error.detail)
    return jobs


def _decode(name: str, text: str) -> Any:
    if name in _INTS:
        return int(text)
    match name:
        case "status":
            return Status(text)
        case "terms":
            return Terms.loads(text)
        case "error":
            return ErrorCode(text)
        case "settlement" | "progress" | "receipt":
            return json.loads(text)
        case "charged" | "cancel":
            return text == "1"
        case _:
            return text


def dump_receipt(receipt: Receipt) -> str:
    """Spell what a receipt adds to the terms of its job."""
    return strict_json.dumps([receipt.transaction, receipt.ledger])
