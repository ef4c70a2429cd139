"""The job object as it is described: in OpenAPI, discovery and bazaar, all from here (J5)."""

import json
from collections.abc import Mapping
from typing import Any

from provider.jobs.model.status import ErrorCode, Status
from provider.services import ChargePolicy, Service


def job_schema() -> dict[str, Any]:
    """Describe the job object (J5)."""
    text, whole, anything = {"type": "string"}, {"type": "integer"}, {"type": "object"}
    return {
        "type": "object",
        "required": ["id", "service", "charge", "status", "createdAt", "attempt"],
        "properties": {
            "id": text,
            "service": text,
            "charge": {"enum": [policy.value for policy in ChargePolicy]},
            "status": {"enum": [status.value for status in Status]},
            "createdAt": {**text, "format": "date-time"},
            "startedAt": {**text, "format": "date-time"},
            "finishedAt": {**text, "format": "date-time"},
            "attempt": whole,
            "queue": {"type": "object", "properties": {"position": whole, "estimatedStartSeconds": whole}},
            "progress": anything,
            "cancelAsked": {"const": True},
            "output": {},
            "error": {
                "type": "object",
                "properties": {
                    "code": {"enum": [code.value for code in ErrorCode]},
                    "message": text,
                    "charged": {"type": "boolean"},
                    "retryable": {"type": "boolean"},
                },
            },
            "payment": anything,
            "settlement": anything,
            "next": {**text, "description": "with 202: what to do"},
        },
    }


def outcome_schema(service: Service, url: str) -> dict[str, Any]:
    """Describe what a succeeded call returns: the job object with the service's output inside."""
    output: Mapping[str, Any] = service.output_schema
    if '"$ref"' in json.dumps(output):  # Its references are not sought in the document around it.
        output = {"$id": f"{url}/output", **output}
    job = job_schema()
    return {**job, "properties": {**job["properties"], "output": dict(output)}}


def outcome_example(service: Service) -> dict[str, Any]:
    """Show such an answer."""
    times = ("createdAt", "startedAt", "finishedAt")
    return {
        "id": f"{service.name}.{'0' * 32}",
        "service": service.name,
        "charge": service.charge.value,
        "status": Status.SUCCEEDED.value,
        **dict.fromkeys(times, "2026-01-01T00:00:00.000Z"),
        "attempt": 1,
        "output": service.example_output,
    }
