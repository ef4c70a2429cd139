"""Does anything work on what waits? Asked of the jobs, since a Redis broker lists no consumers."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from provider.doctor.finding import Finding, fail, ok, skipped
from provider.errors import StoreUnavailable
from provider.jobs.model.due import may_settle
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.listing import JobIndex
from provider.services import Service
from provider.settings import Settings

LATE_SWEEPS = 4
"""A job that waits for so many sweeps has no worker."""
LOOK_AGAIN_SECONDS = 2.0
MOST_LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class StuckJob:
    """A job at the head of a queue that could be worked on, and what to report if none is."""

    queue: str
    job_id: str
    version: int
    finding: Finding


class Queues:
    """Checks that what waits is worked on.

    A Redis broker does not tell who consumes a queue. What its jobs do tells more: one that could be started,
    settled or swept for long, and is still there unchanged at a second look, is taken by nobody.
    """

    def __init__(
        self, store: JobStore, settings: Settings, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._store = store
        self._late_ms = LATE_SWEEPS * settings.sweep_seconds * 1000
        self._pause = pause
        self._lanes = Lanes(store)
        self._index = JobIndex(store)

    def check(self, services: Iterable[Service]) -> list[Finding]:
        """Check all queues, looking twice only where something waits long."""
        offered = {service.name: service for service in services}
        try:
            stuck = list(self._waiting(offered))
            if stuck:
                self._pause(LOOK_AGAIN_SECONDS)
                again = {(one.queue, one.job_id, one.version) for one in self._waiting(offered)}
                stuck = [one for one in stuck if (one.queue, one.job_id, one.version) in again]
        except StoreUnavailable:
            return [skipped("queues", "unknown while Redis does not answer")]
        return [one.finding for one in stuck] or [ok("queues", "nothing waits that could be worked on")]

    def _waiting(self, offered: dict[str, Service]) -> Iterator[StuckJob]:
        late_ms = int(self._store.now_ms() - self._late_ms)
        for name in self._store.service_names():
            yield from self._unhandled(name, offered.get(name), late_ms)
            yield from self._unsettled(name, late_ms)
            yield from self._unswept(name, late_ms)

    def _unhandled(self, name: str, service: Service | None, late_ms: int) -> Iterator[StuckJob]:
        """Find a lane whose first job waits beside a free slot."""
        waiting, busy = self._lanes.load(name)
        free = service.concurrency - busy if service else 1
        heads = self._store.get_many(self._lanes.next(name, 1)) if free > 0 else []
        starts = "remote-worker" if service and service.remote else "worker handle"
        seen, todo = f"{waiting} jobs wait beside {free} free slots", f"start more of `provider {starts}`"
        if service is None:
            seen, todo = f"{waiting} jobs of a service that is not offered", "offer it again, and they run"
        for job in heads:
            if (job.place or 0) // 1000 <= late_ms:
                yield _witness(f"handle.{name}", job, seen, todo)

    def _unsettled(self, name: str, late_ms: int) -> Iterator[StuckJob]:
        """Find a job that waits to be settled, though the sweep asked for it several times."""
        statuses = (Status.PENDING, Status.RUNNING)
        ids = self._index.oldest(name, statuses, until_ms=late_ms, limit=MOST_LOOKED_AT)
        jobs = [job for job in self._store.get_many(ids) if may_settle(job)]
        todo = "start `provider worker settle`, or look for `settlement_not_…` in its log"
        for job in jobs[:1]:
            yield _witness(f"settle.{name}", job, f"{len(jobs)} jobs wait to be settled", todo)

    def _unswept(self, name: str, late_ms: int) -> Iterator[StuckJob]:
        """Find a job that a sweep should have looked at several times."""
        todo = "start beat and `provider worker maintenance`, or run `provider sweep` from any scheduler"
        for job in self._store.get_many(self._store.due(name, late_ms, limit=1)[:1]):
            yield _witness("maintenance", job, f"no sweep looked at a job of {name} when it was due", todo)


def _witness(queue: str, job: Job, seen: str, todo: str) -> StuckJob:
    return StuckJob(queue, job.id, job.version, fail(f"queue {queue}", seen, todo))
