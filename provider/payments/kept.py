"""One kept-alive connection a thread, for calls that may be repeated without harm.

This stands in the way of every paid call, where a pool's and a session's care for cookies, hooks, proxies and
retries costs more than the call. So the request is spelled once, urllib3 connects (names, TLS), the standard
library reads the answer.
"""

import os
import threading
from collections.abc import Mapping
from functools import lru_cache
from http.client import HTTPException, HTTPResponse
from urllib.parse import urlsplit

import requests
from urllib3.connection import HTTPConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError
from urllib3.util import wait_for_read

from provider.payments import transport
from provider.payments.settlement import FacilitatorAnswer, Failure


class KeptConnections:
    """One connection to a server a thread and process: neither may share one."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {**transport.COMMON_HEADERS, **headers}
        self._local = threading.local()

    def call(self, method: str, path: str, body: bytes, *, seconds: float) -> FacilitatorAnswer:
        """Send one request and read its answer, within `seconds`; failures are part of the result."""
        connection = self._connection()
        try:
            with transport.budget(seconds):
                return self._exchange(connection, method, path, body, seconds)
        except ConnectTimeoutError:
            failure = Failure.NOT_CONNECTED
        except TimeoutError:
            failure = Failure.TIMED_OUT
        except (OSError, HTTPException, HTTPError, ValueError):
            failure = Failure.BROKEN
        connection.close()
        return FacilitatorAnswer(failure=failure)

    def _exchange(
        self, connection: HTTPConnection, method: str, path: str, body: bytes, seconds: float
    ) -> FacilitatorAnswer:
        _make_ready(connection, seconds)
        head = _head(method, self._url + path, tuple(self._headers.items()))
        connection.sock.sendall(b"%b%d\r\n\r\n%b" % (head, len(body), body))
        with HTTPResponse(connection.sock, method=method) as response:
            response.begin()
            answer = _read(response)
        if response.will_close or answer.failure is Failure.TOO_LARGE:
            connection.close()
        return answer

    def _connection(self) -> HTTPConnection:
        """Return this thread's connection; a forked child makes its own."""
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.connection, self._local.pid = transport.connection_to(self._url), os.getpid()
        connection: HTTPConnection = self._local.connection
        return connection


def _make_ready(connection: HTTPConnection, seconds: float) -> None:
    """Connect, also when there is something to read: the server has closed, or speaks out of turn."""
    if connection.sock is not None and wait_for_read(connection.sock, 0):
        connection.close()
    if connection.sock is None:
        connection.timeout = min(transport.CONNECT_TIMEOUT_SECONDS, seconds)
        connection.connect()


def _read(response: HTTPResponse) -> FacilitatorAnswer:
    content = b""
    while chunk := response.read(transport.MAX_ANSWER_BYTES):
        content += chunk
        if len(content) > transport.MAX_ANSWER_BYTES:
            return FacilitatorAnswer(response.status, failure=Failure.TOO_LARGE)
    if response.length:
        raise OSError("the answer was cut short")
    return transport.answer_of(response.status, content)


@lru_cache(maxsize=64)
def _head(method: str, url: str, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Spell a request up to the length of its body; `requests` checks what it is made of."""
    request = requests.Request(method, url, headers=dict(headers)).prepare()
    _, _, host = urlsplit(request.url or "").netloc.rpartition("@")
    request.headers.pop("Content-Length", None)
    fields = {"Host": host, **request.headers, "Content-Type": "application/json", "Content-Length": ""}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([f"{method} {request.path_url} HTTP/1.1", *lines]).encode("latin-1")
