"""What stands in each lane right now: one round trip, for descriptors, metrics and the CLI."""

import time
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from provider.jobs.model import pace
from provider.jobs.model.status import FINAL, INDEX_STEP, Status
from provider.jobs.store import keys
from provider.jobs.store.client import reaching_redis
from provider.jobs.store.jobs import JobStore
from provider.services import Service

OPEN = tuple(status for status in Status if status not in FINAL)


@dataclass(frozen=True, slots=True)
class LaneStats:
    """The queue of one service as it was read."""

    jobs: Mapping[Status, int]
    """Jobs stored, by status."""
    reserved: int
    """Places kept for verified payments until their jobs are written (Q3)."""
    busy: int
    """Handlers running, of `concurrency`."""
    average_seconds: float
    """Duration of a job, exponentially weighted (Q2)."""
    wait_seconds: int
    """What a new call would wait for its start."""
    oldest_uncertain_ms: int | None
    """When the oldest job whose payment is uncertain was claimed."""
    due_since_ms: int | None
    """When the sweep must look at a job next; in the past when it has not yet. None when there is none."""

    @property
    def depth(self) -> int:
        """Places taken (Q2)."""
        return self.jobs[Status.PENDING] + self.jobs[Status.QUEUED] + self.reserved


@dataclass(frozen=True, slots=True)
class Stranded:
    """Open jobs of a service that is not offered (Q7)."""

    jobs: Mapping[Status, int]
    """Open jobs, by status; those that have none are left out."""
    oldest_ms: int
    """When the first of them was claimed."""


def count_jobs(store: JobStore, names: Iterable[str]) -> dict[str, dict[Status, int]]:
    """Count the stored jobs of services by status, offered or not. Raises StoreUnavailable."""
    names = list(names)
    with reaching_redis():
        pipe = store.client.pipeline(transaction=False)
        for name in names:
            for status in Status:
                pipe.zcount(keys.index(name), *status.scores)
        counts = iter(pipe.execute())
    return {name: dict(zip(Status, islice(counts, len(Status)), strict=True)) for name in names}


def read_stranded(store: JobStore, offered: Container[str]) -> dict[str, Stranded]:
    """Find the services with open jobs that are not offered. Raises StoreUnavailable."""
    names = [name for name in store.service_names() if name not in offered]
    counts = count_jobs(store, names)
    found = {}
    for name in names:
        waiting = {status: counts[name][status] for status in OPEN if counts[name][status]}
        oldest = [_oldest(store, name, status) for status in waiting]
        if waiting:
            found[name] = Stranded(waiting, min(filter(None, oldest), default=store.now_ms(name)))
    return found


def _oldest(store: JobStore, name: str, status: Status) -> int | None:
    low, high = status.scores
    with reaching_redis():
        first = store.client.zrangebyscore(keys.index(name), low, high, start=0, num=1, withscores=True)
    return int(first[0][1]) - low if first else None


def read_stats(store: JobStore, services: Iterable[Service]) -> dict[str, LaneStats]:
    """Read the lanes of these services. Raises StoreUnavailable."""
    services = list(services)
    with reaching_redis():
        pipe = store.client.pipeline(transaction=False)
        for service in services:
            _ask(pipe, service.name)
        answers = pipe.execute()
    size = len(answers) // len(services) if services else 0
    return {
        service.name: _stats(service, answers[place * size : (place + 1) * size])
        for place, service in enumerate(services)
    }


def _ask(pipe: Any, name: str) -> None:
    for status in Status:
        pipe.zcount(keys.index(name), *status.scores)
    pipe.zcount(keys.reserved(name), int(time.time() * 1000), "+inf")
    pipe.zcard(keys.slots(name))
    pipe.hget(keys.pace(name), "average_ms")
    pipe.zrangebyscore(keys.index(name), *Status.PAYMENT_UNCERTAIN.scores, start=0, num=1, withscores=True)
    pipe.zrange(keys.due(name), 0, 0, withscores=True)


def _stats(service: Service, answers: list[Any]) -> LaneStats:
    jobs = dict(zip(Status, answers, strict=False))
    reserved, busy, average_ms, uncertain, due = answers[len(Status) :]
    average = pace.average_seconds(service, average_ms)
    ahead = jobs[Status.PENDING] + jobs[Status.QUEUED] + reserved + busy
    wait = pace.wait_seconds(service, ahead, average)
    oldest = int(uncertain[0][1]) - Status.PAYMENT_UNCERTAIN.code * INDEX_STEP if uncertain else None
    due_since = int(due[0][1]) if due else None
    return LaneStats(jobs, reserved, busy, average, round(wait), oldest, due_since)
