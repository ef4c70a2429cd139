"""Time for clients: to send the body of a request, and to take an answer.

A WSGI middleware for a server of greenlets. The head of a request and the pauses between requests are the
server's business (`keepalive`).
"""

import errno
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gevent
from gunicorn.http.errors import ParseException

from provider.errors import BodiesFull, InvalidBody

LARGE_BYTES = 64 * 1024
MOST_LARGE = 64
"""Bodies above LARGE_BYTES that may arrive at one process at a time: what has come of them is in memory."""


class Deadlines:
    """Bounds how long a body may arrive and a piece of an answer be taken; then the connection is closed."""

    def __init__(
        self, app: Callable[..., Iterable[bytes]], *, body_seconds: float, answer_seconds: float
    ) -> None:
        self._app = app
        self._body_seconds = body_seconds
        self._answer_seconds = answer_seconds
        self._room = threading.BoundedSemaphore(MOST_LARGE)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        room = self._room if _announced(environ) > LARGE_BYTES else None
        environ["wsgi.input"] = body = _Body(environ, self._body_seconds, room)

        def begin(*given: Any) -> Any:
            body.close_if_unread()
            return start_response(*given)

        try:
            return _Answer(self._app(environ, begin), self._answer_seconds)
        finally:
            body.leave()


def _announced(environ: dict[str, Any]) -> float:
    """Return how many bytes of body will come; a chunked one may have any number."""
    length = environ.get("CONTENT_LENGTH", "")
    return math.inf if "HTTP_TRANSFER_ENCODING" in environ else int(length) if length.isdecimal() else 0


class _Body:
    """The body of a request. A large one needs room while it arrives."""

    def __init__(
        self, environ: dict[str, Any], seconds: float, room: threading.BoundedSemaphore | None
    ) -> None:
        self._stream = environ["wsgi.input"]
        self._ends_at = time.monotonic() + seconds
        self._room = room
        self._is_inside = False
        self._left = _announced(environ)

    def read(self, *size: int) -> bytes:
        """Read as a file does. Raises TimeoutError, after which gunicorn serves the connection no more."""
        return self._timed(self._stream.read, *size)

    def readline(self, *size: int) -> bytes:
        return self._timed(self._stream.readline, *size)

    def leave(self) -> None:
        if self._is_inside and self._room is not None:
            self._is_inside = False
            self._room.release()

    def _timed(self, read: Callable[..., bytes], *size: int) -> bytes:
        self._enter()
        left = max(0.0, self._ends_at - time.monotonic())
        with gevent.Timeout(left, TimeoutError("the body is too late")):
            try:
                data = read(*size)
            except ParseException:
                raise InvalidBody("The chunks of the body are malformed; send the call again.") from None
        self._left -= len(data)
        if not data:
            self._left = 0
            self.leave()
        return data

    def close_if_unread(self) -> None:
        """End the connection with the answer where more body is left than the server reads over."""
        if self._left > LARGE_BYTES and (close := getattr(self._stream, "close_connection", None)):
            close()

    def _enter(self) -> None:
        if self._room is not None and not self._is_inside:
            if not self._room.acquire(blocking=False):
                raise BodiesFull
            self._is_inside = True


class _Answer:
    """The pieces of an answer, each taken in time: gunicorn sends one between two calls of this iterator."""

    def __init__(self, pieces: Iterable[bytes], seconds: float) -> None:
        self._pieces = pieces
        self._iterator = iter(pieces)
        self._seconds = seconds
        self._taking: gevent.Timeout | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        self._cancel()
        try:
            return next(self._iterator)
        finally:
            late = ConnectionResetError(errno.ECONNRESET, "the client does not take its answer")
            self._taking = gevent.Timeout.start_new(self._seconds, late)

    def close(self) -> None:
        self._cancel()
        if hasattr(self._pieces, "close"):
            self._pieces.close()

    def _cancel(self) -> None:
        if self._taking is not None:
            self._taking.close()
