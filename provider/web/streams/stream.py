"""Server-sent events: how a view answers with a stream, and what a kind of stream is made of.

    return event_stream(parts().places, parts().events, feed)

A *feed* is one client's stream and remembers what that client has seen. Its stream is a plain generator in
the thread, or greenlet, of its request: it asks the feed for news whenever its waiter is woken. What a client
is sent is a state and not a change, so that one that takes its time misses nothing.
"""

import random
import time
from collections.abc import Generator, Iterable, Iterator
from socket import MSG_PEEK
from typing import Any, NamedTuple, Protocol

import structlog
from flask import Response, request
from urllib3.util import wait_for_read

from provider.errors import StoreUnavailable, StreamsFull
from provider.jobs.store.subscription import JobEvents, Waiter
from provider.web.streams.places import Places

log = structlog.get_logger()

SOURCE_FAILED = "stream_source_failed"
MEDIA_TYPE = "text/event-stream"
RETRY_MS = 3000
COME_BACK_MS = (500, 5000)
"""Clients of a stopping process come back after a time in between, not all at once."""
BEAT_SECONDS = 15.0
"""A comment this often keeps proxies from closing a stream in which nothing happens."""
COMMENT = b": still here\n\n"
AGAIN_SECONDS = 1.0
NEVER = float("inf")
PIECE_BYTES = 65_536
"""A slow client holds a copy of one piece; the text of an event is shared by all its streams."""


class News(NamedTuple):
    """What one client is sent now; nothing, if it has seen all."""

    pieces: Iterable[bytes] = ()
    ends: bool = False
    """The stream is over once these are written."""


class Feed(Protocol):
    """One client's stream."""

    waiter: Waiter
    every_seconds: float
    """It is asked this often, also when nothing changed."""

    @property
    def patience_seconds(self) -> float:
        """How long a change that is not urgent may wait, counted from when the feed was asked last."""
        ...

    def news(self) -> News:
        """Give what the client has not seen. StoreUnavailable means: ask again in a second."""
        ...


def frame(event: str, data: bytes, event_id: str = "") -> Iterator[bytes]:
    """Spell one event; `data` is compact JSON, which has no line breaks."""
    first = f"id: {event_id}\n" if event_id else ""
    head = f"{first}event: {event}\ndata: ".encode()
    if len(data) <= PIECE_BYTES:
        yield head + data + b"\n\n"
        return
    yield head
    for at in range(0, len(data), PIECE_BYTES):
        yield data[at : at + PIECE_BYTES]
    yield b"\n\n"


def last_event_id() -> str:
    """Return the id of the event that a client saw last before it came back; empty when it is new."""
    return request.headers.get("Last-Event-ID", "")


def event_stream(places: Places, events: JobEvents, feed: Feed) -> Response:
    """Answer with the events of a feed. Raises StreamsFull when this process or job has as many as it may."""
    job_id = feed.waiter.job_id
    if places.is_full(job_id):
        raise StreamsFull
    stream = _Stream(feed, request.environ.get("gunicorn.socket"))

    def body() -> Iterator[bytes]:
        with places.taken(job_id), events.waking(feed.waiter):
            yield from stream.frames()

    response = Response(body(), content_type=MEDIA_TYPE)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response


class _Stream:
    """What is written to one client. Times are monotonic."""

    def __init__(self, feed: Feed, sock: Any) -> None:
        self._feed = feed
        self._sock = sock
        self._asked_at = self._due_at = self._written_at = time.monotonic()

    def frames(self) -> Iterator[bytes]:
        yield _retry(RETRY_MS)
        while not self._feed.waiter.is_stopped:
            pieces, ends = self._news()
            for piece in pieces:
                yield piece
                self._written_at = time.monotonic()
            if ends or not (yield from self._is_still_there()):
                return
        yield _retry(random.randint(*COME_BACK_MS))

    def _news(self) -> News:
        self._asked_at = time.monotonic()
        self._due_at = self._asked_at + self._feed.every_seconds
        try:
            return self._feed.news()
        except StoreUnavailable:
            self._due_at = self._asked_at + AGAIN_SECONDS
            return News()
        except Exception:
            log.exception(SOURCE_FAILED)
            return News(ends=True)

    def _is_still_there(self) -> Generator[bytes, None, bool]:
        """Wait until there may be news, with a comment now and then; False when the client has closed."""
        while (now := time.monotonic()) < self._due_at:
            beat_at = self._written_at + BEAT_SECONDS
            patience = self._asked_at + self._feed.patience_seconds - now
            if self._feed.waiter.wait(max(0.0, min(self._due_at, beat_at) - now), patience=patience):
                return True
            if time.monotonic() >= beat_at:
                if _is_closed(self._sock):
                    return False
                yield COMMENT
                self._written_at = time.monotonic()
        return True


def _retry(milliseconds: int) -> bytes:
    return f"retry: {milliseconds}\n\n".encode()


def _is_closed(sock: Any) -> bool:
    """Check whether a client has closed its side; a first write to it would still succeed."""
    try:
        return sock is not None and wait_for_read(sock, 0) and not sock.recv(1, MSG_PEEK)
    except OSError:
        return True
