"""Calls of a facilitator: no more than 64 KiB of answer, and failures as part of the result."""

import re
from collections.abc import Mapping
from email.message import Message
from functools import lru_cache
from typing import Any

import requests
from urllib3.exceptions import ConnectTimeoutError

from provider import strict_json
from provider.bounded_http import CONNECT_TIMEOUT_SECONDS, budget
from provider.payments.settlement import FacilitatorAnswer, Failure

MAX_ANSWER_BYTES = 64 * 1024
MAX_RECEIVED_BYTES = 2 * MAX_ANSWER_BYTES
MOST_WAIT_SECONDS = 3600
"""A longer Retry-After is shown to buyers as an hour."""
_SECONDS = re.compile("[0-9]{1,9}")


def call(
    session: requests.Session, method: str, url: str, *, seconds: float, body: bytes | None = None
) -> FacilitatorAnswer:
    """Send one request and read its answer, within `seconds`; failures are part of the result."""
    try:
        with budget(seconds, MAX_RECEIVED_BYTES), _send(session, method, url, seconds, body) as response:
            return _read(response)
    except requests.RequestException as error:
        return FacilitatorAnswer(failure=_failure(error))
    except TimeoutError:
        return FacilitatorAnswer(failure=Failure.TIMED_OUT)
    except (OSError, ValueError):
        return FacilitatorAnswer(failure=Failure.BROKEN)


def _send(
    session: requests.Session, method: str, url: str, seconds: float, body: bytes | None
) -> requests.Response:
    """Send through the session's adapter: what `Session.request` adds for every call (environment, cookies,
    hooks, redirects) is of no use here and costs more than the call itself."""
    request = _prepared(method, url, tuple(session.headers.items())).copy()
    if body is not None:
        request.body = body
        request.headers.update({"Content-Type": "application/json", "Content-Length": str(len(body))})
    timeout = (min(CONNECT_TIMEOUT_SECONDS, seconds), seconds)
    adapter = session.get_adapter(url)
    return adapter.send(
        request, stream=True, timeout=timeout, verify=session.verify or False, cert=session.cert
    )


@lru_cache(maxsize=64)
def _prepared(
    method: str, url: str, headers: tuple[tuple[str, str | bytes], ...]
) -> requests.PreparedRequest:
    """Prepare what every request to a URL has in common; callers copy it."""
    return requests.Request(method, url, headers=dict(headers)).prepare()


def _read(response: requests.Response) -> FacilitatorAnswer:
    content = b""
    for chunk in response.iter_content(8192):
        content += chunk
        if len(content) > MAX_ANSWER_BYTES:
            return FacilitatorAnswer(response.status_code, failure=Failure.TOO_LARGE)
    return answer_of(response.status_code, content, response.headers)


def answer_of(status: int, content: bytes, headers: Mapping[str, str] | Message) -> FacilitatorAnswer:
    """Read the content of an answer as the JSON object it should be, and the headers that matter."""
    wait = headers.get("Retry-After") or ""
    beside: dict[str, Any] = {
        "retry_after_seconds": min(int(wait), MOST_WAIT_SECONDS) if _SECONDS.fullmatch(wait) else None,
        "redirect": headers.get("Location") if 300 <= status < 400 else None,
        "extensions": headers.get("EXTENSION-RESPONSES"),
    }
    try:
        return FacilitatorAnswer(status, strict_json.parse_object(content), **beside)
    except ValueError:
        return FacilitatorAnswer(status, failure=Failure.UNREADABLE, **beside)


def _failure(error: requests.RequestException) -> Failure:
    """Separate what never left this machine from what may have arrived.

    urllib3's `NewConnectionError` and `NameResolutionError` are `ConnectTimeoutError`s; all three are raised
    before a connection exists. A failed TLS handshake is none of them.
    """
    cause = error.args[0] if error.args else None
    reason = getattr(cause, "reason", cause)
    if isinstance(reason, ConnectTimeoutError):
        return Failure.NOT_CONNECTED
    if isinstance(error, requests.Timeout) or "timed out" in str(error):
        return Failure.TIMED_OUT
    return Failure.BROKEN
