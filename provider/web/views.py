"""Jobs as their buyers see them: read for many at once, encoded once for all (J5, J14)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from provider.errors import JobNotFound
from provider.jobs.model.job import Job, Place
from provider.jobs.model.job_id import service_of
from provider.jobs.model.status import Status
from provider.jobs.model.wire import dump_job
from provider.jobs.store.batch_reads import glance
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.services import Service
from provider.strict_json import compact
from provider.web.shared_reads import SharedReads


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class View:
    """A job, and the job object as it is sent."""

    job: Job
    """Without its output, unless it was read for one answer alone."""
    place: Place | None
    text: bytes = field(repr=False)

    @property
    def id(self) -> str:
        return event_id(self.job, self.place)


def view_of(job: Job, place: Place | None) -> View:
    """Encode a job as it was read whole. Its output is in the text once it succeeded, never before (J14)."""
    return View(job, place, compact(dump_job(job, place)))


def event_id(job: Job, place: Place | None) -> str:
    """Name what a job shows: its version, and its position, which changes without it."""
    return f"{job.version}.{place.position}" if place else str(job.version)


class JobViews:
    """Reads jobs for all who look at the same time: two round trips, and one more for each output.

    A view lives as long as an answer or a stream uses it, and is shared meanwhile: a large output is in
    memory once, however many clients take it however slowly.
    """

    def __init__(self, store: JobStore, lanes: Lanes, services: Mapping[str, Service]) -> None:
        self._store = store
        self._lanes = lanes
        self._services = services
        self._reads = SharedReads(self._read)
        self._shared: WeakValueDictionary[str, View] = WeakValueDictionary()

    def get(self, job_id: str) -> View:
        """Show a job. Raises JobNotFound, RecordUnreadable, StoreUnavailable."""
        try:
            service_of(job_id)
        except ValueError:
            raise JobNotFound from None
        return self._reads.get(job_id) or view_of(self._store.get(job_id), None)

    def _read(self, job_ids: Sequence[str]) -> Mapping[str, View]:
        jobs = glance(self._store, job_ids)
        places = self._places(jobs.values())
        views = (self._view(job, places.get(job.id)) for job in jobs.values())
        return {view.job.id: view for view in views if view is not None}

    def _view(self, job: Job, place: Place | None) -> View | None:
        known = self._shared.get(job.id)
        if known is not None and known.place is place is None and known.job.version == job.version:
            return known
        whole = job
        if job.status is Status.SUCCEEDED:  # Of no other job the output is even read (J14).
            if not (found := self._store.get_many([job.id])):
                return None
            whole = found[0]
        view = View(job, place, compact(dump_job(whole, place)))
        if known is not None and known.text == view.text:
            return known
        self._shared[job.id] = view
        return view

    def _places(self, jobs: Iterable[Job]) -> dict[str, Place]:
        queued: defaultdict[str, list[str]] = defaultdict(list)
        for job in jobs:
            if job.status is Status.QUEUED and job.service in self._services:
                queued[job.service].append(job.id)
        found: dict[str, Place] = {}
        for name, ids in queued.items():
            found |= self._lanes.places(ids, self._services[name])
        return found
