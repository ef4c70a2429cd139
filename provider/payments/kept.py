"""Kept-alive connections, for calls that may be repeated without harm.

This stands in the way of every paid call, where a pool's and a session's care for cookies, hooks, proxies and
retries costs more than the call. So the request is spelled once, urllib3 connects (names, TLS), the standard
library reads the answer.
"""

import os
import queue
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from http.client import HTTPException, HTTPResponse
from urllib.parse import urlsplit

import requests
from urllib3.connection import HTTPConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError
from urllib3.util import wait_for_read

from provider.bounded_http import COMMON_HEADERS, CONNECT_TIMEOUT_SECONDS, budget, connection_to
from provider.payments import transport
from provider.payments.settlement import FacilitatorAnswer, Failure

MOST_CONNECTIONS = 64
"""Calls at a time. A server that answers nothing holds as many, with what their requests carry; then others
fail at once instead of joining them."""
MOST_WAIT_SECONDS = 2.0


class KeptConnections:
    """A bounded pool of connections to a server. Threads share the pool, a forked process makes its own."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {**COMMON_HEADERS, **headers}
        self._pid = 0
        self._slots: queue.LifoQueue[HTTPConnection | None] = queue.LifoQueue()

    def call(
        self, method: str, path: str, body: bytes, *, seconds: float, fresh: bool = False
    ) -> FacilitatorAnswer:
        """Send one request and read its answer, within `seconds`; failures are part of the result."""
        ends_at = time.monotonic() + seconds
        try:
            with self._connection(min(seconds, MOST_WAIT_SECONDS)) as connection:
                if fresh:
                    connection.close()
                return self._exchange(connection, method, path, body, ends_at - time.monotonic())
        except ConnectTimeoutError:
            return FacilitatorAnswer(failure=Failure.NOT_CONNECTED)
        except (TimeoutError, queue.Empty):
            return FacilitatorAnswer(failure=Failure.TIMED_OUT)
        except (OSError, HTTPException, HTTPError, ValueError):
            return FacilitatorAnswer(failure=Failure.BROKEN)

    def _exchange(
        self, connection: HTTPConnection, method: str, path: str, body: bytes, seconds: float
    ) -> FacilitatorAnswer:
        head = _head(method, self._url + path, tuple(self._headers.items()))
        with budget(seconds, transport.MAX_RECEIVED_BYTES):
            _make_ready(connection, seconds)
            connection.sock.sendall(b"%b%d\r\n\r\n%b" % (head, len(body), body))
            with HTTPResponse(connection.sock, method=method) as response:
                response.begin()
                answer = _read(response)
        if response.will_close or answer.failure is Failure.TOO_LARGE:
            connection.close()
        return answer

    @contextmanager
    def _connection(self, seconds: float) -> Iterator[HTTPConnection]:
        """Lend a connection, the one used last before all others; one that fails in use is closed."""
        slots = self._own_slots()
        connection = slots.get(timeout=seconds) or connection_to(self._url)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        finally:
            slots.put(connection)

    def _own_slots(self) -> "queue.LifoQueue[HTTPConnection | None]":
        if self._pid != os.getpid():
            slots: queue.LifoQueue[HTTPConnection | None] = queue.LifoQueue()
            for _ in range(MOST_CONNECTIONS):
                slots.put(None)
            self._slots, self._pid = slots, os.getpid()
        return self._slots


def _make_ready(connection: HTTPConnection, seconds: float) -> None:
    """Connect, also when there is something to read: the server has closed, or speaks out of turn."""
    if connection.sock is not None and wait_for_read(connection.sock, 0):
        connection.close()
    if connection.sock is None:
        connection.timeout = min(CONNECT_TIMEOUT_SECONDS, seconds)
        connection.connect()


def _read(response: HTTPResponse) -> FacilitatorAnswer:
    content = b""
    while chunk := response.read(transport.MAX_ANSWER_BYTES):
        content += chunk
        if len(content) > transport.MAX_ANSWER_BYTES:
            return FacilitatorAnswer(response.status, failure=Failure.TOO_LARGE)
    if response.length:
        raise OSError("the answer was cut short")
    return transport.answer_of(response.status, content, response.headers)


@lru_cache(maxsize=64)
def _head(method: str, url: str, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Spell a request up to the length of its body; `requests` checks what it is made of."""
    request = requests.Request(method, url, headers=dict(headers)).prepare()
    _, _, host = urlsplit(request.url or "").netloc.rpartition("@")
    request.headers.pop("Content-Length", None)
    fields = {"Host": host, **request.headers, "Content-Type": "application/json", "Content-Length": ""}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([f"{method} {request.path_url} HTTP/1.1", *lines]).encode("latin-1")
