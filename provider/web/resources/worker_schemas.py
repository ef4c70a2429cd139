"""What remote workers send and get, as marshmallow schemas, which also describe it to them (§11)."""

import json
from dataclasses import asdict
from typing import Any, cast

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_dump, post_load, validate

from provider.errors import InvalidBody
from provider.jobs.model.status import ErrorCode
from provider.jobs.model.wire import wire_time
from provider.jobs.remote.gateway import Assignment
from provider.jobs.remote.held_lease import LeaseAnswer
from provider.jobs.run.messages import Checkpoint, End, FailureClass
from provider.payments.marshal import flatten
from provider.services.checkpoints import cursor_text, unit_name
from provider.services.progress import Progress

MOST_NAMES = 1000
MOST_CHECKPOINTS = 1000
NONE_AVAILABLE = "none-available"
REASONS = (*(End.LOST, End.TIMED_OUT, End.STALLED, End.CANCELLED), ErrorCode.OUTPUT_INVALID)
"""Why a call was not accepted."""
_MESSAGE = validate.Length(max=1000)
_LEASE = {"description": "what the claim gave"}


class _Open(Schema):
    class Meta:
        unknown = EXCLUDE


class JsonNumber(fields.Field[float]):
    """A number as JSON has it: marshmallow's own also reads texts, and makes fractions of whole numbers."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValidationError("Must be a number.")
        return value


class ClaimSchema(_Open):
    """Services whose jobs a worker asks for; an empty list is any it may run."""

    services = fields.List(
        fields.String(validate=validate.Length(max=64)),
        load_default=list,
        validate=validate.Length(max=MOST_NAMES),
    )


class ProgressSchema(_Open):
    """How far the work is."""

    done = JsonNumber(required=True)
    total = JsonNumber(allow_none=True)
    message = fields.String(allow_none=True, validate=_MESSAGE)

    @post_load
    def build(self, data: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        report = asdict(Progress.reported(**data))
        return {name: value for name, value in report.items() if value is not None}


class CheckpointSchema(_Open):
    """A unit that is complete, or with a cursor where it stands."""

    unit = fields.String(required=True)
    cursor = fields.Raw(
        load_default=None,
        allow_none=True,
        metadata={"description": "any JSON; left out: the unit is complete"},
    )

    @post_load
    def build(self, data: dict[str, Any], **kwargs: Any) -> Checkpoint:
        return Checkpoint(unit_name(data["unit"]), cursor_text(data["cursor"]))


def _marks(**options: Any) -> "fields.List[Any]":
    length = validate.Length(max=MOST_CHECKPOINTS)
    return fields.List(fields.Nested(CheckpointSchema), data_key="checkpoints", validate=length, **options)


class _AboutJob(_Open):
    lease = fields.String(required=True, validate=validate.Length(max=128), metadata=_LEASE)


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
    message = fields.String(
        load_default="",
        validate=validate.Length(max=20_000),
        metadata={"description": "for the log; no buyer sees it"},
    )
    marks = _marks(load_default=list)
    progress = fields.Nested(ProgressSchema, load_default=None, allow_none=True)


class AssignmentSchema(_Open):
    """A job, to the worker that holds it now: all that a handler's context has."""

    id = fields.String(required=True)
    service = fields.String(required=True)
    input = fields.Dict(required=True)
    attempt = fields.Integer(required=True)
    lease = fields.String(required=True, metadata=_LEASE)
    lease_seconds = JsonNumber(required=True, data_key="leaseSeconds")
    budget_seconds = JsonNumber(required=True, data_key="budgetSeconds")
    deadline = fields.String(required=True, metadata={"format": "date-time"})
    cancel = fields.Boolean(required=True)
    completed_units = fields.List(fields.String(), required=True, data_key="completedUnits")
    cursors = fields.Dict(required=True)


class AnswerSchema(_Open):
    """What became of a call; members that say nothing are left out."""

    accepted = fields.Boolean(
        required=True, metadata={"description": "false: the job is not in these hands any more"}
    )
    reason = fields.String(validate=validate.OneOf(REASONS))
    detail = fields.String()
    cancel = fields.Boolean(metadata={"description": "stop, and tell that the work failed"})
    lease_seconds = JsonNumber(data_key="leaseSeconds")
    budget_seconds = JsonNumber(data_key="budgetSeconds")

    @post_dump
    def leave_out(self, data: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        if not data["cancel"]:
            del data["cancel"]
        return {name: value for name, value in data.items() if value is not None}


def load(schema: Schema, body: dict[str, Any]) -> dict[str, Any]:
    """Load a body. Raises InvalidBody naming each field."""
    try:
        loaded: dict[str, Any] = schema.load(body)
    except ValidationError as error:
        found = [{"field": f"/{n.replace('.', '/')}", "message": text} for n, text in flatten(error.messages)]
        raise InvalidBody("The body does not fit this request.", fields=found) from None
    return loaded


def dump_assignment(given: Assignment) -> dict[str, Any]:
    """Describe a job to the worker that holds it now."""
    held, job = given.hold, given.lease.job
    answer = held.as_it_is()
    assigned = {
        "id": job.id,
        "service": job.service,
        "input": json.loads(job.input),
        "attempt": job.attempt,
        "lease": given.lease.owner,
        "lease_seconds": answer.lease_seconds,
        "budget_seconds": answer.budget_seconds,
        "deadline": wire_time(job.work_until_ms or 0),
        "cancel": job.cancel,
        "completed_units": sorted(given.completed_units),
        "cursors": dict(given.cursors),
    }
    return cast("dict[str, Any]", AssignmentSchema().dump(assigned))


def dump_answer(answer: LeaseAnswer) -> dict[str, Any]:
    """Describe what became of a call."""
    return cast("dict[str, Any]", AnswerSchema().dump(answer))
