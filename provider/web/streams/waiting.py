"""Hold an answer until its job has moved on, without using up the threads that serve others."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from provider.jobs.model.job import Job
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.subscription import JobEvents
from provider.web.streams.hub import Hub
from provider.web.streams.live import HeldFeed, HeldJobs
from provider.web.streams.stream import Parked, may_park

FREE_SHARE = 4
"""One in this many threads never waits, so that health checks and new calls are always served."""


@dataclass(frozen=True, slots=True)
class Due:
    """What is left to do for an answer that was held: show this job, say what was preferred."""

    job_id: str
    applied: str
    started: float
    """When its request came, by the clock of the metrics."""
    status_of: Callable[[Job], int]


class WaitingRoom:
    """Holds answers in the hub. Under a server that cannot part with a client there are as many places as
    threads may sleep. Who finds the room full is answered at once (202)."""

    def __init__(self, events: JobEvents, hub: Hub, store: JobStore, threads: int) -> None:
        self._events = events
        self._hub = hub
        self._jobs = HeldJobs(store)
        self._places = threading.BoundedSemaphore(max(1, threads - max(1, threads // FREE_SHARE)))

    def wait(self, job: Job, done: Callable[[Job], bool], seconds: float, due: Due) -> tuple[Job, bool]:
        """Return the job as it is when `done` or after `seconds`, and whether it was waited for.

        Raises Parked where the client may leave its thread; `due` is done when it comes back.
        """
        if done(job) or seconds <= 0:
            return job, True
        if may_park():
            if self._hub.is_full:
                return job, False
            feed = HeldFeed(frozenset({job.id}), job_id=job.id, done=done)
            raise Parked(self._hub, self._jobs, feed, held=due, seconds=seconds)
        if not self._places.acquire(blocking=False):
            return job, False
        try:
            return self._events.wait(job.id, done, seconds), True
        finally:
            self._places.release()
