"""Cross-origin headers on every answer, errors and preflights included (standard H6)."""

import re

from flask import Flask, Response, request

ALLOW_METHODS = "GET, HEAD, POST, DELETE, OPTIONS"
ALLOW_HEADERS = (
    "Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, PAYER-PROOF, "
    "PAYMENT-SIGNATURE, Prefer"
)
EXPOSE_HEADERS = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, Location, Retry-After, Preference-Applied"
DAY_SECONDS = "86400"
_NAMES = re.compile(r"[\w!#$%&'*+.^`|~, -]{1,4096}", re.ASCII)


def init_app(app: Flask) -> None:
    """Register the hook; call it before other hooks, since Flask runs the first one last."""
    app.after_request(allow_every_origin)


def allow_every_origin(response: Response) -> Response:
    """Let any page call: payments are signed per call, there are no cookies to protect."""
    headers = response.headers
    headers["Access-Control-Allow-Origin"] = "*"
    headers["Access-Control-Expose-Headers"] = EXPOSE_HEADERS
    if request.method == "OPTIONS":
        headers["Access-Control-Allow-Methods"] = ALLOW_METHODS
        asked = request.headers.get("Access-Control-Request-Headers", "")
        # The official wrapper sends headers that nothing here reads, and `*` does not cover Authorization.
        headers["Access-Control-Allow-Headers"] = asked if _NAMES.fullmatch(asked) else ALLOW_HEADERS
        headers["Vary"] = "Access-Control-Request-Headers"
        headers["Access-Control-Max-Age"] = DAY_SECONDS
    return response
