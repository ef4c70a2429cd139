"""gunicorn's thread worker, for clients that never finish what they began.

A thread of gunicorn's own waits for a request as long as the client likes: one that vanished half way through
its headers or its body costs a thread for good, and as many as there are threads stop the whole process. Here
the client has a time in which its request must have arrived; after that it counts as gone.
"""

import errno
import os
import time
from typing import Any

from gunicorn.workers import gthread

READ_SECONDS = float(os.environ.get("WEB_READ_SECONDS", "20"))


class PatientWorker(gthread.ThreadWorker):  # type: ignore[misc]
    """Serves requests that arrive in time."""

    def handle(self, conn: Any) -> Any:
        """Serve one request of a connection, in a thread of the pool."""
        if not isinstance(conn.sock, _TimedSocket):
            conn.sock = _TimedSocket(conn.sock)
        conn.sock.begin()
        return super().handle(conn)


class _TimedSocket:
    """A client's socket, waited for no longer than allowed: once for a request, once for an answer."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._ends_at = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def begin(self) -> None:
        """Let a request begin to arrive."""
        self._ends_at = time.monotonic() + READ_SECONDS

    def recv(self, count: int, *flags: int) -> bytes:
        """Read some of the request; nothing, as at its end, once the time is over."""
        left = self._ends_at - time.monotonic()
        if left <= 0:
            return b""
        self._sock.settimeout(left)
        try:
            data: bytes = self._sock.recv(count, *flags)
        except TimeoutError:
            return b""
        return data

    def sendall(self, data: Any) -> None:
        """Send some of the answer, to a client that takes it."""
        self._sock.settimeout(READ_SECONDS)
        try:
            self._sock.sendall(data)
        except TimeoutError:
            raise ConnectionResetError(errno.ECONNRESET, "the client does not take its answer") from None
