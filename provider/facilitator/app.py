"""The HTTP API of a facilitator: `/supported`, `/verify`, `/settle` of x402 v2, and `/healthz`.

Refusals are answers, not errors: they have status 200, as with the official facilitators. A status of 5xx
means that there is no verdict.
"""

import hmac
import logging
from collections.abc import Callable
from typing import Any

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

from provider.errors import CallError, InvalidBody, RpcError
from provider.facilitator.facilitator import Facilitator
from provider.payments.models import PaymentPayload, PaymentRequirements
from provider.payments.schemas import load_payload, load_requirements
from provider.strict_json import parse_object

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 64 * 1024

Answer = tuple[Response, int]


def create_app(facilitator: Facilitator, *, api_key: str = "") -> Flask:
    """Make the app. With an `api_key`, `/verify` and `/settle` want it as a bearer token."""
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.before_request(lambda: _check_key(api_key))
    _add_views(app, facilitator)
    _add_errors(app)
    return app


def _add_views(app: Flask, facilitator: Facilitator) -> None:
    views: dict[str, Callable[[], dict[str, Any]]] = {
        "/supported": facilitator.supported,
        "/healthz": facilitator.health,
    }
    for path, view in views.items():
        app.add_url_rule(path, path, view)
    app.add_url_rule("/verify", "verify", lambda: facilitator.verify(*_body()), methods=["POST"])
    app.add_url_rule("/settle", "settle", lambda: facilitator.settle(*_body()), methods=["POST"])


def _add_errors(app: Flask) -> None:
    app.register_error_handler(
        CallError, lambda error: _failure("invalid_payload", error.detail, error.status)
    )
    app.register_error_handler(RpcError, lambda error: _failure(_unexpected(), error.detail, 503))
    app.register_error_handler(HTTPException, _http_failure)
    app.register_error_handler(Exception, _crash)


def _body() -> tuple[PaymentPayload, PaymentRequirements]:
    try:
        body = parse_object(request.get_data())
    except ValueError as error:
        raise InvalidBody(f"The body cannot be used: {error}.") from None
    return load_payload(_part(body, "paymentPayload")), load_requirements(_part(body, "paymentRequirements"))


def _part(body: dict[str, Any], name: str) -> dict[str, Any]:
    part = body.get(name)
    if not isinstance(part, dict):
        raise InvalidBody(f"{name} is missing.")
    return part


def _check_key(api_key: str) -> Answer | None:
    if not api_key or request.path not in ("/verify", "/settle"):
        return None
    given = request.headers.get("Authorization", "")
    if hmac.compare_digest(given.encode(), f"Bearer {api_key}".encode()):
        return None
    return _failure("unauthorized", "Send the facilitator's API key as a bearer token.", 401)


def _failure(reason: str, message: str | None, status: int) -> Answer:
    """Spell a failure in the shape of the answer that was asked for."""
    if request.path == "/verify":
        return jsonify({"isValid": False, "invalidReason": reason, "invalidMessage": message}), status
    if request.path == "/settle":
        body = {
            "success": False,
            "errorReason": reason,
            "errorMessage": message,
            "transaction": "",
            "network": "",
        }
        return jsonify(body), status
    return jsonify({"error": reason, "message": message}), status


def _unexpected() -> str:
    return "unexpected_settle_error" if request.path == "/settle" else "unexpected_verify_error"


def _http_failure(error: HTTPException) -> Answer:
    return _failure("invalid_request", error.description, error.code or 500)


def _crash(error: Exception) -> Answer:
    logger.error("facilitator.crashed", exc_info=error)
    return _failure(_unexpected(), "Something went wrong; the log has it.", 500)
