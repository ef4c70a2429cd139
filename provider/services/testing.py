"""Run a handler without a platform: in a unit test, or at a prompt."""

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from provider.services.context import HandlerLogger


@dataclass
class LocalContext:
    """A context that remembers what the handler told it."""

    job_id: str = "local"
    attempt: int = 1
    deadline: float = field(default_factory=lambda: time.time() + 3600)
    cancelled: threading.Event = field(default_factory=threading.Event)
    completed_units: frozenset[str] = frozenset()
    cursors: dict[str, Any] = field(default_factory=dict)
    told: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    logger: HandlerLogger = field(default_factory=structlog.get_logger)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        self.told.append((done, total, message))

    def checkpoint(self, unit: str, cursor: Any = None) -> None:
        if cursor is not None:
            self.cursors[unit] = cursor
            return
        self.completed_units |= {unit}
        self.cursors.pop(unit, None)

    def next_attempt(self) -> "LocalContext":
        """Return what the next attempt of the same job is given (R5)."""
        return replace(self, attempt=self.attempt + 1, cancelled=threading.Event(), cursors={**self.cursors})
