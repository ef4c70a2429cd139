"""POST /mcp: one JSON-RPC message in, one out. There is no session, so GET and DELETE are 405."""

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from flask import Blueprint, Response, request

from provider import strict_json
from provider.errors import InvalidBody
from provider.web.http.body import read_json
from provider.web.mcp.protocol import (
    LEGACY,
    PREFIX,
    SUPPORTED,
    TASKS,
    UNKNOWN_METHOD,
    ProtocolFault,
    Question,
    read_question,
)
from provider.web.mcp.tasks import cancel_task, get_task, update_task
from provider.web.mcp.tools import call_tool, list_tools

blueprint = Blueprint("mcp", __name__)

PARSE_ERROR = -32700
MOST_DEPTH = strict_json.MAX_DEPTH + 4
"""Arguments stand two levels deep in their message; they are held to the usual limit themselves."""
TTL_MS = 60_000
CACHED = {"ttlMs": TTL_MS, "cacheScope": "public"}
INSTRUCTIONS = (
    "Each tool but job_status and job_cancel is paid by x402 on Stellar. A call without a payment answers "
    'its price; sign a payment for it and call again with the payment in _meta["x402/payment"]. A result '
    "that is not final names a job: call job_status with its id. Where an answer was lost, send the same "
    "payment with the same arguments again: it is the same job, and nothing is paid twice. "
    "A payment may also be sent to the HTTP address in resource.url."
)
_ORIGIN = re.compile(r"https?://[^/\s]+")


@blueprint.post("/mcp")
def mcp() -> Response:
    """Answer one message; a notification, or a response, is acknowledged."""
    origin = request.headers.get("Origin")
    if origin is not None and not _ORIGIN.fullmatch(origin):
        return Response(status=HTTPStatus.FORBIDDEN)
    try:
        message = read_json(request, max_depth=MOST_DEPTH)
    except InvalidBody as error:
        return _fault(None, ProtocolFault(PARSE_ERROR, error.detail, HTTPStatus.BAD_REQUEST))
    if "id" not in message or "method" not in message:
        return Response(status=HTTPStatus.ACCEPTED)
    try:
        return _answer(message, result=_result(read_question(message, request.headers)))
    except ProtocolFault as fault:
        return _fault(message, fault)


def _result(question: Question) -> dict[str, Any]:
    methods = _MODERN if question.is_modern else _LEGACY
    if question.method not in methods:
        status = HTTPStatus.NOT_FOUND if question.is_modern else HTTPStatus.OK
        raise ProtocolFault(UNKNOWN_METHOD, "There is no such method here.", status)
    result = methods[question.method](question)
    return {"resultType": "complete", **result} if question.is_modern else result


def _initialize(question: Question) -> dict[str, Any]:
    asked = question.params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in LEGACY else LEGACY[0],
        "capabilities": {"tools": {}},
        "serverInfo": _server_info(),
        "instructions": INSTRUCTIONS,
    }


def _discover(_: Question) -> dict[str, Any]:
    return {
        "supportedVersions": list(SUPPORTED),
        "capabilities": {"tools": {}, "extensions": {TASKS: {}}},
        "instructions": INSTRUCTIONS,
        "_meta": {f"{PREFIX}serverInfo": _server_info()},
        **CACHED,
    }


def _list(question: Question) -> dict[str, Any]:
    return {"tools": list_tools(), **(CACHED if question.is_modern else {})}


def _server_info() -> dict[str, str]:
    return {"name": "x402-provider", "version": version("x402-provider")}


_SHARED: Mapping[str, Callable[[Question], dict[str, Any]]] = {"tools/list": _list, "tools/call": call_tool}
_LEGACY = {**_SHARED, "initialize": _initialize, "ping": lambda _: {}}
_MODERN = {
    **_SHARED,
    "server/discover": _discover,
    "tasks/get": get_task,
    "tasks/update": update_task,
    "tasks/cancel": cancel_task,
}


def _fault(message: Mapping[str, Any] | None, fault: ProtocolFault) -> Response:
    return _answer(message or {}, fault.status, error=fault.body())


def _answer(message: Mapping[str, Any], status: int = HTTPStatus.OK, **part: Any) -> Response:
    body = strict_json.compact({"jsonrpc": "2.0", "id": message.get("id"), **part})
    response = Response(body, status, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response
