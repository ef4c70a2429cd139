"""How far a handler's work is (R4): what a report may hold, the same for local and remote workers."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from provider.errors import InvalidProgress
from provider.services.problems import shortened

PROGRESS_SECONDS = 1.0
"""Progress is passed on and written at most this often, and the last value always (R4)."""
MOST = 2**53
"""Larger JSON numbers are not exact in every language."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a handler."""

    done: float
    total: float | None
    message: str | None

    @classmethod
    def reported(cls, done: Any, total: Any = None, message: Any = None) -> "Progress":
        """Check a report; a long message is cut. Raises InvalidProgress."""
        if message is not None and not isinstance(message, str):
            raise InvalidProgress(f"message: must be text or None, not {type(message).__name__}")
        return cls(
            _number("done", done),
            None if total is None else _number("total", total),
            None if message is None else shortened(message),
        )


def _number(name: str, value: Any) -> float:
    """Give a plain number, also for one of numpy's."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidProgress(f"{name}: must be a number, not {type(value).__name__}")
    number = int(value) if isinstance(value, Integral) else _float(value)
    if not 0 <= number <= MOST:  # Nor is NaN.
        raise InvalidProgress(f"{name}: must be a number from 0 to 2^53")
    return number


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
