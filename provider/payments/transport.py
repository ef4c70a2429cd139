"""HTTP calls that end when they should.

`requests` has a time-out per read: a server that sends a byte now and then holds a call for ever. Here every
read and write of a call gets only what is left of its total. No redirects, no proxies or passwords from the
environment, no more than 64 KiB of answer.
"""

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError

from provider.payments import wire
from provider.payments.settlement import FacilitatorAnswer, Failure

MAX_ANSWER_BYTES = 64 * 1024
CONNECT_TIMEOUT_SECONDS = 5.0

COMMON_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}

_MAX_RECEIVED_BYTES = 2 * MAX_ANSWER_BYTES


class _Budget:
    """What one call may still take: time, and bytes on the wire (headers and chunk sizes included)."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._bytes = _MAX_RECEIVED_BYTES

    def seconds(self) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time of this call is used up: timed out")
        return left

    def received(self, count: int) -> None:
        self._bytes -= count
        if self._bytes < 0:
            raise OSError("the answer is too large")


_budget: ContextVar[_Budget] = ContextVar("budget")


@contextmanager
def budget(seconds: float) -> Iterator[None]:
    """Bound all reads and writes inside, together, to `seconds` from now."""
    token = _budget.set(_Budget(seconds))
    try:
        yield
    finally:
        _budget.reset(token)


class _TimedReader(io.RawIOBase):
    """Gives each read of a socket what is left of the call's time."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_budget.get().seconds())
        count: int | None = self._raw.readinto(buffer)
        _budget.get().received(count or 0)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedSocket:
    """A connected socket whose reads and writes keep to the call's time."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def sendall(self, data: Any) -> None:
        self._sock.settimeout(_budget.get().seconds())
        self._sock.sendall(data)

    def makefile(self, mode: str, *args: Any, **kwargs: Any) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock))


class _TimedHTTPConnection(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock = _TimedSocket(self.sock)


class _TimedHTTPSConnection(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        self.sock = _TimedSocket(self.sock)


class _TimedHTTPPool(HTTPConnectionPool):
    ConnectionCls = _TimedHTTPConnection


class _TimedHTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _TimedHTTPSConnection


class _TimedAdapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _TimedHTTPPool, "https": _TimedHTTPSPool}


def new_session(headers: dict[str, str]) -> requests.Session:
    """Make a session that reads nothing from the environment and never retries."""
    session = requests.Session()
    session.trust_env = False
    session.headers.update({**COMMON_HEADERS, **headers})
    for prefix in ("http://", "https://"):
        session.mount(prefix, _TimedAdapter(pool_connections=1, pool_maxsize=1, max_retries=0))
    return session


def connection_to(url: str) -> HTTPConnection:
    """Make a connection that a session would make, not yet connected."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https":
        return _TimedHTTPSConnection(
            host, parts.port, cert_reqs="CERT_REQUIRED", ca_certs=DEFAULT_CA_BUNDLE_PATH
        )
    return _TimedHTTPConnection(host, parts.port)


def call(
    session: requests.Session, method: str, url: str, *, seconds: float, body: bytes | None = None
) -> FacilitatorAnswer:
    """Send one request and read its answer, within `seconds`; failures are part of the result."""
    try:
        with budget(seconds), _send(session, method, url, seconds, body) as response:
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
    return answer_of(response.status_code, content)


def answer_of(status: int, content: bytes) -> FacilitatorAnswer:
    """Read the content of an answer as the JSON object it should be."""
    try:
        return FacilitatorAnswer(status, wire.parse_object(content))
    except ValueError:
        return FacilitatorAnswer(status, failure=Failure.UNREADABLE)


def _failure(error: requests.RequestException) -> Failure:
    """Tell what never left this machine from what may have arrived.

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
