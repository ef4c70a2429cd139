"""What remote workers send, as marshmallow schemas, and what they get (§11)."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validate

from provider.errors import InvalidBody
from provider.jobs.remote.gateway import Assignment
from provider.jobs.remote.held_lease import LeaseAnswer
from provider.jobs.run.messages import Checkpoint, FailureClass
from provider.payments.marshal import flatten
from provider.services.checkpoints import cursor_text, unit_name
from provider.services.progress import Progress

MOST_NAMES = 1000
MOST_CHECKPOINTS = 1000
_MESSAGE = validate.Length(max=1000)


class _Sent(Schema):
    class Meta:
        unknown = EXCLUDE


class _Number(fields.Field[float]):
    """A number as JSON has it: marshmallow's own also reads texts, and makes fractions of whole numbers."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValidationError("Must be a number.")
        return value


class ClaimSchema(_Sent):
    """Services whose jobs a worker asks for; an empty list is any it may run."""

    services = fields.List(
        fields.String(validate=validate.Length(max=64)),
        load_default=list,
        validate=validate.Length(max=MOST_NAMES),
    )


class ProgressSchema(_Sent):
    """How far the work is."""

    done = _Number(required=True)
    total = _Number(allow_none=True)
    message = fields.String(allow_none=True, validate=_MESSAGE)

    @post_load
    def build(self, data: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        report = asdict(Progress.reported(**data))
        return {name: value for name, value in report.items() if value is not None}


class CheckpointSchema(_Sent):
    """A unit that is complete, or with a cursor where it stands."""

    unit = fields.String(required=True)
    cursor = fields.Raw(load_default=None, allow_none=True)

    @post_load
    def build(self, data: dict[str, Any], **kwargs: Any) -> Checkpoint:
        return Checkpoint(unit_name(data["unit"]), cursor_text(data["cursor"]))


def _marks(**options: Any) -> "fields.List[Any]":
    length = validate.Length(max=MOST_CHECKPOINTS)
    return fields.List(fields.Nested(CheckpointSchema), data_key="checkpoints", validate=length, **options)


class _AboutJob(_Sent):
    lease = fields.String(required=True, validate=validate.Length(max=128))


class RenewSchema(_AboutJob):
    """A lease alone."""


class ToldProgressSchema(_AboutJob):
    """A lease and the progress of its job."""

    progress = fields.Nested(ProgressSchema, required=True)


class CheckpointsSchema(_AboutJob):
    """A lease and checkpoints of its job."""

    marks = _marks(required=True)


class CompleteSchema(_AboutJob):
    """A lease and the output of its job."""

    output = fields.Raw(required=True, allow_none=True)
    progress = fields.Nested(ProgressSchema, load_default=None, allow_none=True)


class FailSchema(_AboutJob):
    """A lease and why its job failed."""

    kind = fields.Enum(FailureClass, by_value=True, required=True, data_key="class")
    message = fields.String(load_default="", validate=validate.Length(max=20_000))
    marks = _marks(load_default=list)
    progress = fields.Nested(ProgressSchema, load_default=None, allow_none=True)


def load(schema: Schema, body: dict[str, Any]) -> dict[str, Any]:
    """Load a body. Raises InvalidBody naming each field."""
    try:
        loaded: dict[str, Any] = schema.load(body)
    except ValidationError as error:
        found = [{"field": f"/{n.replace('.', '/')}", "message": text} for n, text in flatten(error.messages)]
        raise InvalidBody("The body does not fit this request.", fields=found) from None
    return loaded


def dump_assignment(given: Assignment) -> dict[str, Any]:
    """Describe a job to the worker that holds it now: all that a handler's context has."""
    held, job = given.hold, given.lease.job
    answer = held.as_it_is()
    return {
        "id": job.id,
        "service": job.service,
        "input": json.loads(job.input),
        "attempt": job.attempt,
        "lease": given.lease.owner,
        "leaseSeconds": answer.lease_seconds,
        "budgetSeconds": answer.budget_seconds,
        "deadline": _time(job.work_until_ms or 0),
        "cancel": job.cancel,
        "completedUnits": sorted(given.completed_units),
        "cursors": dict(given.cursors),
    }


def dump_answer(answer: LeaseAnswer) -> dict[str, Any]:
    """Describe what became of a call; members that say nothing are left out."""
    told = {
        "reason": answer.reason,
        "detail": answer.detail,
        "cancel": answer.cancel or None,
        "leaseSeconds": answer.lease_seconds,
        "budgetSeconds": answer.budget_seconds,
    }
    return {"accepted": answer.accepted} | {name: value for name, value in told.items() if value is not None}


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
