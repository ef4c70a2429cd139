"""Run a handler without a platform: in a unit test, or at a prompt."""

import threading
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from provider.services.checkpoints import DEFAULT_LIMITS, CheckpointLimits, Checkpoints
from provider.services.context import HandlerLogger
from provider.services.progress import Progress


@dataclass
class LocalContext:
    """A context that records the calls of a handler, and refuses what the real one would."""

    job_id: str = "local"
    attempt: int = 1
    deadline: float = field(default_factory=lambda: time.time() + 3600)
    cancelled: threading.Event = field(default_factory=threading.Event)
    completed_units: AbstractSet[str] = frozenset()
    cursors: Mapping[str, Any] = field(default_factory=dict)
    reports: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    """Every progress, where the buyer sees one a second."""
    logger: HandlerLogger = field(default_factory=structlog.get_logger)
    limits: CheckpointLimits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        """Show the handler what it checkpoints, as it goes."""
        self._checkpoints = Checkpoints(self.limits, self.completed_units, self.cursors)
        self.completed_units = self._checkpoints.completed_units
        self.cursors = self._checkpoints.cursors

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        progress = Progress.reported(done, total, message)
        self.reports.append((progress.done, progress.total, progress.message))

    def checkpoint(self, unit: str, cursor: Any = None) -> None:
        text = self._checkpoints.spell(unit, cursor)
        if not self.cancelled.is_set():
            self._checkpoints.note(unit, text)

    def next_attempt(self) -> "LocalContext":
        """Return what the next attempt of the same job is given (R5)."""
        return replace(self, attempt=self.attempt + 1, cancelled=threading.Event())
