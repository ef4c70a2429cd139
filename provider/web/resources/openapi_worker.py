"""The part of the OpenAPI document that is for remote workers (§11)."""

from typing import Any

from provider.jobs.run.messages import FailureClass

SECURITY_SCHEME = {"type": "http", "scheme": "bearer", "description": "A token of `provider tokens create`"}
_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_LEASE = {**_TEXT, "description": "what the claim gave"}
_PROGRESS = {
    "type": "object",
    "required": ["done"],
    "properties": {"done": _NUMBER, "total": _NUMBER, "message": {**_TEXT, "maxLength": 1000}},
}
_CHECKPOINTS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["unit"],
        "properties": {"unit": _TEXT, "cursor": {"description": "any JSON; left out: the unit is complete"}},
    },
}
_REFUSALS = {
    "401": {"description": "No valid worker token."},
    "403": {"description": "The token does not allow this service."},
}
_CALLS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "renew": ("Prolong the lease", {}, []),
    "progress": ("Tell how far the work is", {"progress": _PROGRESS}, ["progress"]),
    "checkpoint": ("Complete units of the work", {"checkpoints": _CHECKPOINTS}, ["checkpoints"]),
    "complete": ("Deliver the output", {"output": {}, "progress": _PROGRESS}, ["output"]),
    "fail": (
        "Tell that the work failed",
        {
            "class": {"enum": [failure.value for failure in FailureClass]},
            "message": {**_TEXT, "description": "for the log; no buyer sees it"},
            "checkpoints": _CHECKPOINTS,
            "progress": _PROGRESS,
        },
        ["class"],
    ),
    "release": ("Hand the job back to its lane", {}, []),
}


def worker_operations() -> dict[str, dict[str, Any]]:
    """Give the operations of the gateway by path."""
    return {"/worker/claims": {"post": _claim()}, "/worker/events": {"get": _events()}} | {
        f"/worker/jobs/{{id}}/{name}": {"post": _call(name, *about)} for name, about in _CALLS.items()
    }


def _events() -> dict[str, Any]:
    services = {"name": "services", "in": "query", "schema": _TEXT, "description": "names by comma"}
    stream = {"description": "Server-sent events.", "content": {"text/event-stream": {}}}
    return {
        "operationId": "hear_of_jobs",
        "summary": "Hear of jobs that wait",
        "tags": ["worker"],
        "security": [{"worker": []}],
        "parameters": [services],
        "responses": {"200": stream, **_REFUSALS},
    }


def _claim() -> dict[str, Any]:
    sent = {"type": "object", "properties": {"services": {"type": "array", "items": _TEXT}}}
    given = {"oneOf": [{"required": ["job"]}, {"required": ["declined"]}], "properties": {"job": _job()}}
    return _operation("claim_job", "Claim the next job", sent, {**given, "type": "object"})


def _call(name: str, summary: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    sent = {
        "type": "object",
        "required": ["lease", *required],
        "properties": {"lease": _LEASE, **properties},
    }
    job_id = {"name": "id", "in": "path", "required": True, "schema": _TEXT}
    return {**_operation(f"{name}_job", summary, sent, _answer()), "parameters": [job_id]}


def _operation(name: str, summary: str, sent: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["worker"],
        "security": [{"worker": []}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": sent}}},
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": given}}},
            **_REFUSALS,
        },
    }


def _answer() -> dict[str, Any]:
    properties = {
        "accepted": {"type": "boolean", "description": "false: the job is not in these hands any more"},
        "reason": {"enum": ["lost", "timed_out", "stalled", "cancelled", "output_invalid"]},
        "detail": _TEXT,
        "cancel": {"type": "boolean", "description": "stop, and tell that the work failed"},
        "leaseSeconds": _NUMBER,
        "budgetSeconds": _NUMBER,
    }
    return {"type": "object", "required": ["accepted"], "properties": properties}


def _job() -> dict[str, Any]:
    properties = {
        "id": _TEXT,
        "service": _TEXT,
        "input": {"type": "object"},
        "attempt": {"type": "integer"},
        "lease": _LEASE,
        "leaseSeconds": _NUMBER,
        "budgetSeconds": _NUMBER,
        "deadline": {**_TEXT, "format": "date-time"},
        "cancel": {"type": "boolean"},
        "completedUnits": {"type": "array", "items": _TEXT},
        "cursors": {"type": "object"},
    }
    return {"type": "object", "required": list(properties), "properties": properties}
