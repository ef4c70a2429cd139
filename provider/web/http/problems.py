"""Errors as RFC 9457 problems, all of them in this one place (standard H7)."""

import json
from http import HTTPStatus
from typing import Any

import structlog
from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from provider.errors import BodyTooLarge, CallError, NotAdmitted, ProviderError

logger = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
NOT_SERVED = "call_not_served"
FAULT = "unexpected_error"
UNEXPECTED = "Something went wrong here; the same call may be sent again."


def init_app(app: Flask) -> None:
    """Turn every exception into a problem."""
    app.register_error_handler(ProviderError, own_error)
    app.register_error_handler(HTTPException, http_error)
    app.register_error_handler(Exception, unexpected_error)


def problem(status: int, code: str, detail: str, **fields: Any) -> Response:
    """Build a problem; fields are members beside the standard ones."""
    title = HTTPStatus(status).phrase
    body = {"title": title, "status": status, "code": code, "detail": detail, **fields}
    response = Response(json.dumps(body), status, content_type=MEDIA_TYPE)
    response.headers["Cache-Control"] = "no-store"
    return response


def own_error(error: ProviderError) -> Response:
    """Show an error of the tree as its class says; one without a status of its own is a fault of ours."""
    if error.code == ProviderError.code:
        return unexpected_error(error)
    retry_after = getattr(error, "retry_after_seconds", None)
    response = problem(error.status, error.code, error.detail, **error.fields)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    if not isinstance(error, CallError) or isinstance(error, NotAdmitted):
        logger.warning(NOT_SERVED, code=error.code, detail=error.for_operators or None)
    return response


def http_error(error: HTTPException) -> Response:
    """Show an error of Flask's own: unknown path, wrong method, oversized body."""
    status = error.code or 500
    if 300 <= status < 400:
        return Response(response=error.get_response())  # type: ignore[arg-type]
    if status == BodyTooLarge.status:
        return own_error(BodyTooLarge())
    phrase = HTTPStatus(status).phrase
    response = problem(status, phrase.lower().replace(" ", "_").replace("-", "_"), f"{phrase}.")
    for name, value in error.get_headers():
        if name.lower() == "allow":
            response.headers[name] = value
    return response


def unexpected_error(error: Exception) -> Response:
    """Log an unexpected error and answer without its text (E2)."""
    logger.error(FAULT, exc_info=error)
    return problem(500, ProviderError.code, UNEXPECTED)
