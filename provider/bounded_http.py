"""HTTP calls with a total budget of time and bytes.

`requests` has a time-out per read: a server that sends a byte now and then holds a call for ever. Here every
read and write of a call gets only what is left of its total. No redirects, no proxies or passwords from the
environment.
"""

import io
import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

CONNECT_TIMEOUT_SECONDS = 5.0

COMMON_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:[^\s/]*@)?([^\s?#]*)\S*")


class _Budget:
    """What one call may still take: time, and bytes on the wire (headers and chunk sizes included)."""

    def __init__(self, seconds: float, most_bytes: int, pause_seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._bytes = most_bytes
        self._pause_seconds = pause_seconds

    def seconds(self) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time of this call is used up: timed out")
        return min(left, self._pause_seconds)

    def received(self, count: int) -> None:
        self._bytes -= count
        if self._bytes < 0:
            raise OSError("the answer is too large")


_budget: ContextVar[_Budget] = ContextVar("budget")


@contextmanager
def budget(seconds: float, most_bytes: int, *, pause_seconds: float = math.inf) -> Iterator[None]:
    """Bound the reads and writes inside: all together to `seconds` from now, each to `pause_seconds`."""
    token = _budget.set(_Budget(seconds, most_bytes, pause_seconds))
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


def new_session(headers: Mapping[str, str], *, kept_connections: int = 1) -> requests.Session:
    """Make a session that reads nothing from the environment and never retries; threads may share it."""
    session = requests.Session()
    session.trust_env = False
    session.headers.update({**COMMON_HEADERS, **headers})
    for prefix in ("http://", "https://"):
        session.mount(prefix, _TimedAdapter(pool_connections=1, pool_maxsize=kept_connections, max_retries=0))
    return session


def mask_urls(text: str) -> str:
    """Return a text of others as logs may have it: its URLs without user, password and query."""
    return _URL.sub(lambda found: f"{found[1]}{found[2]}", text)


def connection_to(url: str) -> HTTPConnection:
    """Make a connection that a session would make, not yet connected."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https":
        return _TimedHTTPSConnection(
            host, parts.port, cert_reqs="CERT_REQUIRED", ca_certs=DEFAULT_CA_BUNDLE_PATH
        )
    return _TimedHTTPConnection(host, parts.port)
