"""How long a purchase may take, and when to ask again."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

HOLD_SECONDS = 25
"""Longest `Prefer: wait` of one request; routers cut at 30 s."""
READ_MARGIN_SECONDS = 15
SHORTEST_PAUSE, LONGEST_BACKOFF = 0.2, 15.0


@dataclass
class Patience:
    """Time left, by a clock that only moves on."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    unanswered: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._end = self.clock() + self.seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - self.clock())

    @property
    def hold(self) -> int:
        """Seconds for which an answer may be held."""
        return int(min(HOLD_SECONDS, self.left))

    def pause(self, advised: float | None) -> float | None:
        """Return how long to sleep before asking again: as the server advises, else ever longer.

        None when that is beyond the end.
        """
        self.unanswered += 1
        backoff = min(SHORTEST_PAUSE * 2 ** min(self.unanswered, 10), LONGEST_BACKOFF)
        wanted = min(backoff, self.left) if advised is None else max(SHORTEST_PAUSE, advised)
        return wanted if 0 < wanted <= self.left else None

    def answered(self) -> None:
        """Begin the ever longer pauses anew."""
        self.unanswered = 0
