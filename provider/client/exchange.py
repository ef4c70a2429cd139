"""What the steps of a purchase ask of the world, and what they get back.

The steps (`provider.client.steps`) are generators without input and output of their own: they yield one of
these, and a driver (`http` for requests, `aio` for httpx) sends the result into them.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from provider.client.sse import SseEvent

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; it is over after `seconds`, whatever the server does. Answered by HttpReply or Lost."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    seconds: float
    pause_seconds: float
    """Longest silence of the server meanwhile."""
    most_bytes: int
    hear: Callable[[SseEvent], bool] | None = None
    """Takes the events of an answer that is a stream; True ends it."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = field(default=b"", repr=False)
    complete: bool = True
    """False: the rest of the content was lost, or too large."""

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came."""

    why: str
    sent: bool = True
    """False: no byte left this machine."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Sleep."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """Run a function that may block (the chain, the journal); what it raises is raised in the steps."""

    run: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Consent:
    """Call the buyer's own hook, which may be a coroutine function for an asynchronous buyer."""

    ask: Callable[[], Any]


Effect: TypeAlias = HttpRequest | Pause | Work | Consent
Steps: TypeAlias = Generator[Effect, Any, T]
