"""Schemas of the OpenAPI document that every service shares."""

from typing import Any

from provider.jobs.model.status import ErrorCode, Status
from provider.services import ChargePolicy


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


def problem_schema() -> dict[str, Any]:
    """Describe an error (H7)."""
    text = {"type": "string"}
    properties = {"title": text, "status": {"type": "integer"}, "code": text, "detail": text}
    return {"type": "object", "required": ["status", "code", "detail"], "properties": properties}
