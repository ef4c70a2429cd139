"""Hold an answer until its job has moved on, without using up the threads that serve others."""

import threading
from collections.abc import Callable

from provider.jobs.events import JobEvents
from provider.jobs.models import Job

FREE_SHARE = 4
"""One in this many threads never waits, so that health checks and new calls are always served."""


class WaitingRoom:
    """As many places as threads may sleep; who finds it full is answered at once (202)."""

    def __init__(self, events: JobEvents, threads: int) -> None:
        self._events = events
        self._places = threading.BoundedSemaphore(max(1, threads - max(1, threads // FREE_SHARE)))

    def wait(self, job: Job, done: Callable[[Job], bool], seconds: float) -> tuple[Job, bool]:
        """Return the job as it is when `done` or after `seconds`, and whether it was waited for."""
        if done(job) or seconds <= 0:
            return job, True
        if not self._places.acquire(blocking=False):
            return job, False
        try:
            return self._events.wait(job.id, done, seconds), True
        finally:
            self._places.release()
