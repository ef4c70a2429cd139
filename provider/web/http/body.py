"""What was sent as input: a JSON body, or a query string."""

from typing import Any

from flask import Request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from provider import strict_json
from provider.errors import BodyTooLarge, InvalidBody
from provider.services import Service

MAX_BODY_BYTES = 1024 * 1024
"""Standard H9."""
CUT_SHORT = "The body ended before its announced length; send the call again."


def read_input(request: Request, service: Service) -> dict[str, Any]:
    """Read the input of a call, not yet judged. Raises InvalidBody or BodyTooLarge."""
    if request.method == "POST":
        return read_json(request)
    return service.coerce_query(request.args.items(multi=True))


def read_json(request: Request) -> dict[str, Any]:
    """Read a JSON object, not yet judged. Raises InvalidBody or BodyTooLarge."""
    return parse_body(_bytes_of(request))


def parse_body(data: bytes) -> dict[str, Any]:
    """Parse a body strictly (H9); no body at all is an empty object. Raises InvalidBody."""
    if not data.strip():
        return {}
    try:
        return strict_json.parse_object(data)
    except UnicodeDecodeError:
        raise InvalidBody("The body is not UTF-8 text; send JSON.") from None
    except ValueError as error:
        raise InvalidBody(f"The body is not the JSON object it should be: {error}.") from None


def _bytes_of(request: Request) -> bytes:
    """Read the whole body or raise: under gunicorn Flask cuts a chunked body at its limit, and a
    connection that broke looks like the end.
    """
    try:
        data = request.get_data()
    except RequestEntityTooLarge:
        raise BodyTooLarge from None
    except HTTPException:
        raise InvalidBody(CUT_SHORT) from None
    if len(data) > MAX_BODY_BYTES:
        raise BodyTooLarge
    if request.content_length is not None and len(data) != request.content_length:
        raise InvalidBody(CUT_SHORT)
    return data
