"""Server-sent events: how a view answers with a stream, and what a kind of stream is made of.

    return event_stream(parts().hub, source, SomeFeed(topics=frozenset({job_id})))

A *feed* is one client's stream and remembers what that client was told. A *source* knows the news of all
feeds of a kind: it is asked for many at once, so that one trip to Redis serves them all. No stream has a
thread of its own: under our gunicorn worker (`provider.web.patience`) the request's thread goes back to its
pool and the hub (`provider.web.streams.hub`) writes; under any other server the answer is a plain generator.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from flask import Response, request

from provider.errors import StreamsFull

if TYPE_CHECKING:
    from provider.web.streams.hub import Hub

MEDIA_TYPE = "text/event-stream"
RETRY_MS = 3000
NEVER = float("inf")
PARKS = ("HTTP/1.0", "HTTP/1.1")
"""One request at a time has the connection to itself."""


@dataclass(eq=False, slots=True)
class Feed:
    """One client's stream. Subclass it for what has to be remembered."""

    topics: frozenset[str]
    """Job ids, woken by each change of the job; names of services, when a job of theirs changes status."""
    every_seconds: float = NEVER
    """Its source is asked this often, also when nothing woke it."""

    def pause_seconds(self, topic: str, word: str) -> float:
        """Tell how long a topic must leave the feed in peace after its last news; NEVER: it does not wake it.

        `word` is what was published: a status or "progress"; empty when anything may have changed.
        """
        return 0.0


class News(NamedTuple):
    """What one client is told now; nothing, if it knows all."""

    frames: bytes = b""
    ends: bool = False
    """The stream is over once these frames are written."""


class Source(Protocol):
    """What there is to tell, for all feeds of one kind; the same object serves every request.

    A feed is asked for when it opens, when it was woken and when its `every_seconds` are over; never twice
    at once, and not while its client leaves earlier frames untaken.
    """

    def news(self, feeds: Sequence[Any]) -> Sequence[News]:
        """Give each feed its news, in the same order. StoreUnavailable means: ask again in a second."""
        ...


class Parked(BaseException):
    """Leaves the thread of a request: our worker hands the client over to the hub.

    It is no error and no Exception, so that nothing on its way answers it.
    """

    def __init__(
        self, hub: "Hub", source: Source, feed: Feed, *, held: Any = None, seconds: float = NEVER
    ) -> None:
        self.hub = hub
        self.source = source
        self.feed = feed
        self.held = held
        """What is left to do for an answer that was held; None for a stream."""
        self.seconds = seconds
        super().__init__()


def frame(event: str, data: bytes, event_id: str = "") -> bytes:
    """Spell one event; `data` is compact JSON, which has no line breaks."""
    first = f"id: {event_id}\n" if event_id else ""
    return f"{first}event: {event}\ndata: ".encode() + data + b"\n\n"


def last_event_id() -> str:
    """Tell what a client saw last before it came back; empty when it is new."""
    return request.headers.get("Last-Event-ID", "")


def event_stream(hub: "Hub", source: Source, feed: Feed) -> Response:
    """Answer with the events of a feed. Raises StreamsFull when this process has as many as it may."""
    if hub.is_full:
        raise StreamsFull
    response = Response(_body(hub, source, feed, may_park()), content_type=MEDIA_TYPE)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response


def may_park() -> bool:
    """Tell whether this request's client can leave its thread: ours is the only worker that lets it."""
    socket: Any = request.environ.get("gunicorn.socket")
    return getattr(socket, "may_park", False) and request.environ["SERVER_PROTOCOL"] in PARKS


def held_answer() -> Any:
    """Give what is left to do when this request was held and is due now; None for all others."""
    return getattr(request.environ.get("gunicorn.socket"), "held", None)


def _body(hub: "Hub", source: Source, feed: Feed, parks: bool) -> Iterator[bytes]:
    yield f"retry: {RETRY_MS}\n\n".encode()
    if parks:
        raise Parked(hub, source, feed)
    yield from hub.follow(source, feed)
