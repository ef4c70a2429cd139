"""Progress that came too soon to be written: the last of each job is kept until it may be (R4)."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from provider.errors import StoreUnavailable
from provider.services.progress import PROGRESS_SECONDS

Progress = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TimedProgress:
    """Progress, and when it was reported by Redis' clock: another process may receive later progress."""

    progress: Progress
    at_ms: int


class ProgressThrottle:
    """Writes the last value of each job when its time has come. Threads share it; forks must not."""

    def __init__(self, write: Callable[[str, str, TimedProgress], object]) -> None:
        self._write = write
        self._kept: dict[str, tuple[float, str, TimedProgress]] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def keep(self, job_id: str, owner: str, said: TimedProgress, seconds: float) -> None:
        """Write this in `seconds`, in place of what waits for that already."""
        with self._changed:
            due = self._kept[job_id][0] if job_id in self._kept else time.monotonic() + seconds
            self._kept[job_id] = due, owner, said
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="last-word", daemon=True)
                self._thread.start()

    def take(self, job_id: str, owner: str) -> TimedProgress | None:
        """Give what waits to be written for this owner of a job, and write it no more."""
        with self._changed:
            _, kept_owner, said = self._kept.pop(job_id, (0.0, "", None))
        return said if kept_owner == owner else None

    def _serve(self) -> None:
        while True:
            for job_id, (_, owner, said) in self._due().items():
                try:
                    self._write(job_id, owner, said)
                except StoreUnavailable:
                    self._keep_on(job_id, owner, said)

    def _keep_on(self, job_id: str, owner: str, said: TimedProgress) -> None:
        """Try again later, unless later progress came: this may be the last report."""
        with self._changed:
            self._kept.setdefault(job_id, (time.monotonic() + PROGRESS_SECONDS, owner, said))

    def _due(self) -> dict[str, tuple[float, str, TimedProgress]]:
        """Wait until something is due, and give all that is."""
        with self._changed:
            while not (due := {i: kept for i, kept in self._kept.items() if kept[0] <= time.monotonic()}):
                soonest = min((kept[0] for kept in self._kept.values()), default=None)
                self._changed.wait(None if soonest is None else max(0.0, soonest - time.monotonic()))
            for job_id in due:
                del self._kept[job_id]
        return due
