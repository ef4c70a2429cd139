"""Schemas of the OpenAPI document that every service shares."""

from typing import Any


def problem_schema() -> dict[str, Any]:
    """Describe an error (H7)."""
    text = {"type": "string"}
    properties = {"title": text, "status": {"type": "integer"}, "code": text, "detail": text}
    return {"type": "object", "required": ["status", "code", "detail"], "properties": properties}
