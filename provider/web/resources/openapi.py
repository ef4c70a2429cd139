"""The OpenAPI document, made at start from the services."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from apispec import APISpec
from flask import Blueprint, Response

import provider
from provider.settings import Settings
from provider.web.http.outcome import job_schema
from provider.web.http.problems import MEDIA_TYPE
from provider.web.parts import Listing, parts
from provider.web.resources.catalogue import currency
from provider.web.resources.openapi_schemas import problem_schema
from provider.web.resources.openapi_worker import SECURITY_SCHEME, worker_operations

blueprint = Blueprint("openapi", __name__)

JOB = {"$ref": "#/components/schemas/Job"}
PROBLEM = {"$ref": "#/components/schemas/Problem"}
NO_JOB = "No job has this id."


@blueprint.get("/openapi.json")
def openapi() -> Response:
    """Give the OpenAPI document."""
    return Response(parts().documents["openapi"], content_type="application/json")


def openapi_document(listings: Collection[Listing], settings: Settings) -> dict[str, Any]:
    """Describe every paid operation, those about jobs, and where services are remote those of workers."""
    spec = APISpec(
        title="Services for agents, paid with x402 on Stellar",
        version=provider.__version__,
        openapi_version="3.1.0",
        info={"description": "Call, read the 402, sign, call again. A call becomes a job; resend it freely."},
        servers=[{"url": settings.public_url.rstrip("/")}],
    )
    spec.components.schema("Job", job_schema())
    spec.components.schema("Problem", problem_schema())
    for listing in listings:
        spec.path(f"/run/{listing.service.name}", operations=_paid_operations(listing, settings))
    for path, operations in _free_operations().items():
        spec.path(path, operations=operations)
    if any(listing.service.remote for listing in listings):
        spec.components.security_scheme("worker", SECURITY_SCHEME)
        for path, operations in worker_operations().items():
            spec.path(path, operations=operations)
    document: dict[str, Any] = spec.to_dict()
    return document


def _paid_operations(listing: Listing, settings: Settings) -> dict[str, Any]:
    service = listing.service
    common = {
        "summary": service.description,
        "tags": list(service.tags),
        "x-payment-info": {
            "price": {"mode": "fixed", "amount": service.price, "currency": currency(settings)},
            "protocols": ["x402"],
        },
        "responses": _paid_responses(listing),
    }
    body = {"required": False, "content": _json(_standing_alone(listing, "input"), service.example_input)}
    return {
        "post": {
            "operationId": f"run_{service.name}",
            "requestBody": body,
            "parameters": _headers(),
            **common,
        },
        "get": {
            "operationId": f"get_{service.name}",
            "parameters": [*_headers(), *_query_parameters(listing)],
            **common,
        },
    }


def _paid_responses(listing: Listing) -> dict[str, Any]:
    outcome = {"allOf": [JOB, {"properties": {"output": _standing_alone(listing, "output")}}]}
    failures = {
        "400": "The payment header or the input is malformed.",
        "409": "This payment was used for another call, or the job was cancelled.",
        "404": "No service has this name any more.",
        "414": "The query is longer than the server reads.",
        "413": f"The input is larger than {listing.service.max_input_bytes} bytes.",
        "429": "The payer has too many jobs open that are not paid, or left some unpaid: later.",
        "503": "The lane is full, or something this needs is away: try again after Retry-After.",
    }
    return {
        "200": {"description": "The job succeeded.", "content": _json(outcome)},
        "202": {"description": "The job is not final yet: look at Location.", "content": _json(JOB)},
        "402": {
            "description": "Sign one of `accepts` and call again with PAYMENT-SIGNATURE.",
            "headers": {
                "PAYMENT-REQUIRED": {"schema": {"type": "string"}, "description": "base64 of the body"}
            },
            "content": _json({"type": "object"}, listing.challenges["POST"].document),
        },
        "500": {"description": "The service failed on this input.", "content": _json(JOB) | _problem()},
        "504": {"description": "The work did not end within its time.", "content": _json(JOB)},
    } | {
        code: {"description": text, "content": _problem() | (_json(JOB) if code == "409" else {})}
        for code, text in failures.items()
    }


def _problem() -> dict[str, Any]:
    return {MEDIA_TYPE: {"schema": PROBLEM}}


def _refusals(**texts: str) -> dict[str, Any]:
    """Describe refusals by status, `_404` for 404."""
    return {code[1:]: {"description": text, "content": _problem()} for code, text in texts.items()}


def _free_operations() -> dict[str, Any]:
    job_id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "/jobs/{id}": {
            "get": {
                "operationId": "show_job",
                "summary": "Look a job up",
                "security": [],
                "parameters": [job_id, _prefer()],
                "responses": {
                    "default": {
                        "description": "The job; a page for people who prefer one.",
                        "content": {**_json(JOB), "text/html": {"schema": {"type": "string"}}},
                    }
                },
            },
            "delete": _cancel_operation(job_id),
        },
        "/jobs/{id}/events": {
            "get": {
                "operationId": "follow_job",
                "summary": "Status, position and progress of a job, as server-sent events",
                "security": [],
                "parameters": [job_id, _last_event_id()],
                "responses": {
                    "200": {"description": "The events, until the job is final.", "content": _text_events()},
                    "204": {"description": "The client saw the final event."},
                    **_refusals(_404=NO_JOB, _503="Too many streams are open, or the store is away."),
                },
            }
        },
        "/jobs/{id}/output": {
            "get": {
                "operationId": "show_output",
                "summary": "The output of a succeeded job, alone",
                "security": [],
                "parameters": [job_id],
                "responses": {
                    "200": {"description": "The output.", "content": _json({})},
                    **_refusals(_404=NO_JOB, _409="The job has no output, or none yet.", _503="Later."),
                },
            },
        },
    }


def _cancel_operation(job_id: Mapping[str, Any]) -> dict[str, Any]:
    forfeit = {
        "name": "forfeit",
        "in": "query",
        "description": "`true` gives up the payment of a job that is paid",
        "schema": {"type": "boolean", "default": False},
    }
    refused = (
        "`forfeit_required`: the job is paid, say `?forfeit=true`. `payment_pending`: ask again once it is "
        "queued. `settlement_begun`, `payment_uncertain`: too late. `job_finished`: `jobStatus` tells how."
    )
    problem = {MEDIA_TYPE: {"schema": PROBLEM}}
    return {
        "operationId": "cancel_job",
        "summary": "Cancel a job; twice is harmless",
        "security": [],
        "parameters": [job_id, forfeit, _prefer()],
        "responses": {
            "200": {"description": "The job is cancelled.", "content": _json(JOB)},
            "202": {
                "description": "Its handler is being stopped; then it is cancelled.",
                "content": _json(JOB),
            },
            "404": {"description": "No job has this id.", "content": problem},
            "409": {"description": refused, "content": problem},
        },
    }


def _standing_alone(listing: Listing, side: str) -> dict[str, Any]:
    """Give a schema an id of its own, so that its references are not sought in this document."""
    schema: Mapping[str, Any] = getattr(listing.service, f"{side}_schema")
    return {"$id": f"{listing.url}/{side}", **schema} if '"$ref"' in json.dumps(schema) else dict(schema)


def _query_parameters(listing: Listing) -> list[dict[str, Any]]:
    required = listing.service.input_schema.get("required", [])
    names = listing.service.input_schema.get("properties", {})
    # A reference would point into this document; GET callers find the whole schema at POST.
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _plain(schema)}
        for name, schema in names.items()
    ]


def _plain(schema: Any) -> Any:
    return {} if "$ref" in str(schema) else schema


def _headers() -> list[dict[str, Any]]:
    about = "base64 of the x402 PaymentPayload; without it the answer is 402"
    signature = {
        "name": "PAYMENT-SIGNATURE",
        "in": "header",
        "description": about,
        "schema": {"type": "string"},
    }
    return [signature, _prefer()]


def _prefer() -> dict[str, Any]:
    about = "RFC 7240: `wait=N` holds the answer up to N seconds, `respond-async` not at all"
    return {"name": "Prefer", "in": "header", "description": about, "schema": {"type": "string"}}


def _last_event_id() -> dict[str, Any]:
    about = "the id of the last event seen: what was missed since follows at once"
    return {"name": "Last-Event-ID", "in": "header", "description": about, "schema": {"type": "string"}}


def _text_events() -> dict[str, Any]:
    return {"text/event-stream": {"schema": {"type": "string"}}}


def _json(schema: Mapping[str, Any], example: Any = None) -> dict[str, Any]:
    return {"application/json": {"schema": schema} | ({} if example is None else {"example": example})}
