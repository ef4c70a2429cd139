"""The driver of a purchase for threads: requests, with a total budget of time and bytes for each request."""

import inspect
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import requests
from requests.utils import get_environ_proxies
from urllib3.exceptions import ConnectTimeoutError, HTTPError

from provider.bounded_http import CONNECT_TIMEOUT_SECONDS, budget, new_session
from provider.client.exchange import Consent, Effect, HttpReply, HttpRequest, Lost, Pause, Steps, Work
from provider.client.sse import SseReader

HEAD_BYTES = 256 * 1024
"""Of headers and chunk sizes, on top of the content."""
PIECE_BYTES = 64 * 1024
EVENT_STREAM = "text/event-stream"
USER_AGENT = "provider-client"
KEPT_CONNECTIONS = 16

T = TypeVar("T")


def buyers_session() -> requests.Session:
    """Make a session whose requests end when they should; threads may share it."""
    return new_session({"User-Agent": USER_AGENT}, kept_connections=KEPT_CONNECTIONS)


class HttpDriver:
    """Does what the steps of a purchase ask for."""

    def __init__(
        self, session: requests.Session | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._session, self._sleep = session or buyers_session(), sleep

    def run(self, steps: Steps[T]) -> T:
        """Run steps to their end."""
        step: Callable[[], Effect] = partial(next, steps)
        while True:
            try:
                effect = step()
            except StopIteration as end:
                result: T = end.value
                return result
            step = self._resumed(steps, effect)

    def _resumed(self, steps: Steps[T], effect: Effect) -> Callable[[], Effect]:
        try:
            result = self._perform(effect)
        except Exception as error:
            return partial(steps.throw, error)
        return partial(steps.send, result)

    def _perform(self, effect: Effect) -> Any:
        match effect:
            case HttpRequest():
                return self.send(effect)
            case Pause(seconds):
                return self._sleep(seconds)
            case Work(run):
                return run()
            case Consent(ask):
                return _settled(ask())

    def send(self, request: HttpRequest) -> HttpReply | Lost:
        """Send one request and read its answer; what fails is part of the result."""
        most = request.most_bytes + HEAD_BYTES
        try:
            with (
                budget(request.seconds, most, pause_seconds=request.pause_seconds),
                self._open(request) as response,
            ):
                return _read(response, request)
        except requests.RequestException as error:
            return Lost(type(error).__name__, sent=not _never_connected(error))
        except (OSError, HTTPError) as error:
            return Lost(type(error).__name__)

    def _open(self, request: HttpRequest) -> requests.Response:
        """Redirects are not followed: a payment is for the service that was named."""
        return self._session.request(
            request.method,
            request.url,
            headers=dict(request.headers),
            data=request.body,
            timeout=(CONNECT_TIMEOUT_SECONDS, request.pause_seconds),
            allow_redirects=False,
            stream=True,
            proxies=get_environ_proxies(request.url),
        )


def _read(response: requests.Response, request: HttpRequest) -> HttpReply:
    """Read what there is of an answer; one that breaks off is kept as far as it came."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    content, complete = b"", True
    hear = listener(request, response.status_code, headers)
    try:
        while piece := response.raw.read1(PIECE_BYTES, decode_content=True):
            if hear is not None and hear(piece):
                break
            content += b"" if hear is not None else piece
            if len(content) > request.most_bytes:
                raise OSError("the answer is too large")
    except (OSError, HTTPError, ValueError):
        complete = False
    return HttpReply(response.status_code, headers, content, complete)


def listener(request: HttpRequest, status: int, headers: dict[str, str]) -> Callable[[bytes], bool] | None:
    """Return what takes the pieces of an event stream, and says when it has heard enough."""
    hear = request.hear
    if hear is None or status != 200 or not headers.get("content-type", "").startswith(EVENT_STREAM):
        return None
    reader = SseReader()
    return lambda piece: any(hear(event) for event in list(reader.feed(piece)))


def _settled(answer: Any) -> Any:
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError("a coroutine function can approve the purchases of an AsyncBuyer only")
    return answer


def _never_connected(error: requests.RequestException) -> bool:
    """True when no byte left this machine: urllib3's refused connections and failed names are such errors."""
    cause = error.args[0] if error.args else None
    return isinstance(getattr(cause, "reason", cause), ConnectTimeoutError)
