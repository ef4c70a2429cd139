"""What those who follow a job are told: the job object whenever it shows something new (J5, J14)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from provider.jobs.model.job import Job, Place
from provider.jobs.model.job_id import service_of
from provider.jobs.model.status import Status
from provider.jobs.model.wire import dump_job
from provider.jobs.store.batch_reads import by_service, glance
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.payments.wire import compact
from provider.services import Service
from provider.web.streams.stream import NEVER, Feed, News, frame

PLACE_SECONDS = 2.0
"""A position changes whenever another job of the lane does; its followers hear of it so often at most."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A job object as it was sent, and the parts that name the next event."""

    id: str
    status: Status
    progress: object
    text: bytes


@dataclass(eq=False, slots=True)
class JobFeed(Feed):
    """The events of one job."""

    job_id: str = ""
    last_id: str = ""
    """What the client saw before it came back."""
    shown: Shown | None = None

    def pause_seconds(self, topic: str, word: str) -> float:
        if not topic or topic == self.job_id:
            return 0.0
        return PLACE_SECONDS if self.shown and self.shown.status is Status.QUEUED else NEVER

    def news(self, now: Shown) -> bytes:
        """Tell what is new since the last time, and remember it."""
        before, self.shown = self.shown, now
        if now.id == self.last_id if before is None else now.text == before.text:
            return b""
        return frame(_event(before, now), now.text, now.id)


def _event(before: Shown | None, now: Shown) -> str:
    if before is None or before.status is not now.status:
        return "status"
    return "progress" if before.progress != now.progress else "position"


def job_feed(job_id: str, last_id: str) -> JobFeed:
    """Follow a job, and its lane for its position."""
    topics = frozenset({job_id, service_of(job_id)})
    return JobFeed(topics, job_id=job_id, last_id=last_id)


def event_id(job: Job, place: Place | None) -> str:
    """Name what a job shows: its version, and its position, which changes without it."""
    return f"{job.version}.{place.position}" if place else str(job.version)


class JobNews:
    """Reads the jobs of many feeds at once: one round trip a service, one more for positions."""

    def __init__(self, store: JobStore, lanes: Lanes, services: Mapping[str, Service]) -> None:
        self._store = store
        self._lanes = lanes
        self._services = services

    def news(self, feeds: Sequence[JobFeed]) -> list[News]:
        """Give each feed what its client has not seen; the stream ends with the final status."""
        shown = self._shown(feed.job_id for feed in feeds)
        return [self._of(feed, shown.get(feed.job_id)) for feed in feeds]

    def _of(self, feed: JobFeed, now: Shown | None) -> News:
        if now is None:
            return News(ends=True)
        return News(feed.news(now), now.status.is_final)

    def _shown(self, job_ids: Iterable[str]) -> dict[str, Shown]:
        jobs = self._whole(glance(self._store, job_ids))
        places = self._places(jobs.values())
        return {job_id: _show(job, places.get(job_id)) for job_id, job in jobs.items()}

    def _whole(self, jobs: dict[str, Job]) -> dict[str, Job]:
        """Add the output to those that succeeded, and to no others (J14)."""
        done = [job_id for job_id, job in jobs.items() if job.status is Status.SUCCEEDED]
        whole = {i: job for i, job in jobs.items() if job.status is not Status.SUCCEEDED}
        for ids in by_service(done).values():
            whole |= {job.id: job for job in self._store.get_many(ids)}
        return whole

    def _places(self, jobs: Iterable[Job]) -> dict[str, Place]:
        queued: defaultdict[str, list[str]] = defaultdict(list)
        for job in jobs:
            if job.status is Status.QUEUED and job.service in self._services:
                queued[job.service].append(job.id)
        found: dict[str, Place] = {}
        for name, ids in queued.items():
            found |= self._lanes.places(ids, self._services[name])
        return found


def _show(job: Job, place: Place | None) -> Shown:
    return Shown(event_id(job, place), job.status, job.progress, compact(dump_job(job, place)))


@dataclass(eq=False, slots=True)
class HeldFeed(Feed):
    """A held answer, due as soon as its job is as wanted."""

    job_id: str = ""
    done: Callable[[Job], bool] = bool


class HeldJobs:
    """Tells held answers that they are due."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def news(self, feeds: Sequence[HeldFeed]) -> list[News]:
        jobs = glance(self._store, (feed.job_id for feed in feeds))
        return [News(ends=feed.job_id not in jobs or feed.done(jobs[feed.job_id])) for feed in feeds]
