"""What stands in each lane right now: one round trip, for descriptors, metrics and the CLI."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from provider.jobs import keys
from provider.jobs.connection import reaching_redis
from provider.jobs.models import INDEX_STEP, Status
from provider.jobs.store import JobStore
from provider.services import Service


@dataclass(frozen=True, slots=True)
class LaneStats:
    """The queue of one service as it was read."""

    jobs: Mapping[Status, int]
    """Jobs stored, by status."""
    reserved: int
    """Places kept for payments that are being verified (Q3)."""
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
        pipe.zcount(keys.index(name), *_scores(status))
    pipe.zcount(keys.reserved(name), int(time.time() * 1000), "+inf")
    pipe.zcard(keys.slots(name))
    pipe.hget(keys.pace(name), "average_ms")
    pipe.zrangebyscore(keys.index(name), *_scores(Status.PAYMENT_UNCERTAIN), start=0, num=1, withscores=True)
    pipe.zrange(keys.due(name), 0, 0, withscores=True)


def _stats(service: Service, answers: list[Any]) -> LaneStats:
    jobs = dict(zip(Status, answers, strict=False))
    reserved, busy, average_ms, uncertain, due = answers[len(Status) :]
    average = float(average_ms) / 1000 if average_ms else service.seed_seconds
    ahead = jobs[Status.PENDING] + jobs[Status.QUEUED] + reserved + busy
    wait = max(0, ahead - service.concurrency + 1) / service.concurrency * average
    oldest = int(uncertain[0][1]) - Status.PAYMENT_UNCERTAIN.code * INDEX_STEP if uncertain else None
    due_since = int(due[0][1]) if due else None
    return LaneStats(jobs, reserved, busy, average, round(wait), oldest, due_since)


def _scores(status: Status) -> tuple[int, str]:
    return status.code * INDEX_STEP, f"({(status.code + 1) * INDEX_STEP}"
