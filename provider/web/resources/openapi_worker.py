"""The part of the OpenAPI document that is for remote workers (§11), made from the schemas of their calls."""

from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema

from provider.web.resources import worker_schemas as schemas

SECURITY_SCHEME = {"type": "http", "scheme": "bearer", "description": "A token of `provider tokens create`"}
_TEXT = {"type": "string"}
_REFUSALS = {
    "401": {"description": "No valid worker token."},
    "403": {"description": "The token does not allow this service."},
}
_CALLS: dict[str, tuple[str, type[Schema]]] = {
    "renew": ("Prolong the lease", schemas.RenewSchema),
    "progress": ("Report progress", schemas.ToldProgressSchema),
    "checkpoint": ("Complete units of the work", schemas.CheckpointsSchema),
    "complete": ("Deliver the output", schemas.CompleteSchema),
    "fail": ("Report a failure", schemas.FailSchema),
    "release": ("Hand the job back to its lane", schemas.RenewSchema),
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
    properties = {"job": _described(schemas.AssignmentSchema), "declined": {"const": schemas.NONE_AVAILABLE}}
    given = {
        "type": "object",
        "properties": properties,
        "oneOf": [{"required": [name]} for name in properties],
    }
    return _operation("claim_job", "Claim the next job", schemas.ClaimSchema, given)


def _call(name: str, summary: str, sent: type[Schema]) -> dict[str, Any]:
    job_id = {"name": "id", "in": "path", "required": True, "schema": _TEXT}
    given = _described(schemas.AnswerSchema)
    return {**_operation(f"{name}_job", summary, sent, given), "parameters": [job_id]}


def _operation(name: str, summary: str, sent: type[Schema], given: dict[str, Any]) -> dict[str, Any]:
    body = {"application/json": {"schema": _described(sent)}}
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["worker"],
        "security": [{"worker": []}],
        "requestBody": {"required": True, "content": body},
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": given}}},
            **_REFUSALS,
        },
    }


def _described(schema: type[Schema]) -> dict[str, Any]:
    """Describe a marshmallow schema in JSON Schema."""
    plugin = MarshmallowPlugin(_in_place)
    APISpec("", "", "3.1.0", plugins=[plugin])
    converter: Any = plugin.converter
    converter.map_to_openapi_type(schemas.JsonNumber, "number", None)
    described: dict[str, Any] = converter.schema2jsonschema(schema())
    return described


def _in_place(nested: object) -> Any:
    """Give a nested schema no name: it is described where it stands."""
