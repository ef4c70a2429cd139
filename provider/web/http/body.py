"""What was sent as input: a JSON body, or a query string."""

from typing import Any
from urllib.parse import unquote_to_bytes

from flask import Request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from provider import strict_json
from provider.errors import BodyTooLarge, InvalidBody
from provider.services import Service
from provider.services.checks import MOST_INPUT_BYTES
from provider.services.query import coerce_again

CUT_SHORT = "The body ended before its announced length; send the call again."


def read_input(request: Request, service: Service) -> dict[str, Any]:
    """Read the input of a call, not yet judged. Raises InvalidBody or BodyTooLarge."""
    text = _bytes_of(request) if request.method == "POST" else request.query_string
    check_size(len(text), service)
    if request.method == "POST":
        return parse_body(text)
    return service.coerce_query(_query_of(request))


def read_input_again(request: Request, earlier: str) -> dict[str, Any]:
    """Read the input of a call whose service is withdrawn; `earlier` is the input that its job has."""
    if request.method == "POST":
        return read_json(request)
    return coerce_again(_query_of(request), parse_body(earlier.encode()))


def _query_of(request: Request) -> list[tuple[str, str]]:
    """Read the query, which werkzeug would read as other text where it is no UTF-8."""
    try:
        unquote_to_bytes(request.query_string).decode()
    except UnicodeDecodeError:
        raise InvalidBody("The query is not UTF-8 text; send it percent-encoded.") from None
    return list(request.args.items(multi=True))


def check_size(size: int, service: Service) -> None:
    """Raise BodyTooLarge for an input that this service does not take."""
    if size > service.max_input_bytes:
        raise BodyTooLarge(
            f"The input is larger than the {service.max_input_bytes} bytes that this service takes."
        )


def read_json(request: Request, *, max_depth: int = strict_json.MAX_DEPTH) -> dict[str, Any]:
    """Read a JSON object, not yet judged. Raises InvalidBody or BodyTooLarge."""
    return parse_body(_bytes_of(request), max_depth=max_depth)


def parse_body(data: bytes, *, max_depth: int = strict_json.MAX_DEPTH) -> dict[str, Any]:
    """Parse a body strictly (H9); no body at all is an empty object. Raises InvalidBody."""
    if not data.strip():
        return {}
    try:
        return strict_json.parse_object(data, max_depth=max_depth)
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
    if len(data) > MOST_INPUT_BYTES:
        raise BodyTooLarge
    if request.content_length is not None and len(data) != request.content_length:
        raise InvalidBody(CUT_SHORT)
    return data
