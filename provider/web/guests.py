"""Who waits in the hub: clients of streams, of held answers, and threads of servers that are not ours."""

import queue
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import Gauge

from provider.web.streams.stream import NEVER, Feed, Source

BEAT_SECONDS = 15.0
"""A comment this often keeps proxies from closing a stream in which nothing happens."""
UNTAKEN_SECONDS = 20.0
"""A client that takes nothing for so long has vanished."""

WAITING_CLIENTS = Gauge(
    "provider_http_waiting_clients",
    "Event streams and held answers.",
    registry=None,
    multiprocess_mode="livesum",
)


@dataclass(eq=False, slots=True)
class Guest:
    """One waiting client; all but its making happens in the hub's thread."""

    source: Source
    feed: Feed
    leave: Callable[[], Any] = lambda: None
    """Called once the hub has no more to do with it."""
    until: float = NEVER
    news_at: float = 0.0
    """When its source is asked next; monotonic, as all times here."""
    asked_at: float = 0.0
    noted_at: float = NEVER
    """When the agenda finds it next."""
    sock: socket.socket | None = None
    """Watched when there is one, for a client that goes and for one that takes more."""
    is_deaf: bool = False
    """Its client sends more than a request, and is no longer listened to."""
    is_ending: bool = False

    @property
    def next_due(self) -> float:
        """Tell when something must be done for it though nothing happens."""
        return min(self.news_at, self.until)

    @property
    def unsent(self) -> int:
        """Count the bytes that its client has not taken yet."""
        return 0

    def tell(self, frames: bytes) -> None:
        """Send frames as soon as they are taken."""

    def beat(self) -> None:
        """Show that the stream lives."""

    def flush(self) -> None:
        """Send what the client takes now. Raises OSError when it is gone."""


@dataclass(eq=False, slots=True)
class Held(Guest):
    """A client whose answer is held; it is told nothing until a thread answers it."""


@dataclass(eq=False, slots=True)
class Listener(Guest):
    """A client of a stream, on its own socket."""

    chunked: bool = True
    written_at: float = field(default_factory=time.monotonic)
    _unsent: bytearray = field(default_factory=bytearray)

    @property
    def next_due(self) -> float:
        if self._unsent:
            return self.written_at + UNTAKEN_SECONDS
        return min(self.news_at, self.written_at + BEAT_SECONDS)

    @property
    def unsent(self) -> int:
        return len(self._unsent)

    def tell(self, frames: bytes) -> None:
        if frames:
            self._unsent += b"%X\r\n%b\r\n" % (len(frames), frames) if self.chunked else frames
        if self.is_ending and self.chunked:
            self._unsent += b"0\r\n\r\n"

    def beat(self) -> None:
        self.tell(b": still here\n\n")

    def flush(self) -> None:
        assert self.sock is not None
        try:
            while self._unsent:
                del self._unsent[: self.sock.send(self._unsent)]
                self.written_at = time.monotonic()
        except BlockingIOError:
            pass


@dataclass(eq=False, slots=True)
class Thread(Guest):
    """A thread of another server that writes to its client by itself."""

    frames: "queue.SimpleQueue[bytes | None]" = field(default_factory=queue.SimpleQueue)
    beats_at: float = field(default_factory=lambda: time.monotonic() + BEAT_SECONDS)

    @property
    def next_due(self) -> float:
        return min(self.news_at, self.beats_at)

    def tell(self, frames: bytes) -> None:
        self.beats_at = time.monotonic() + BEAT_SECONDS
        if frames:
            self.frames.put(frames)
        if self.is_ending:
            self.frames.put(None)

    def beat(self) -> None:
        self.tell(b": still here\n\n")
