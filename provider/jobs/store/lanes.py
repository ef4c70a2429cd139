"""Lanes: admission, order, and the leases under which jobs run (§6, R1)."""

from collections.abc import Mapping, Sequence
from typing import Any

from provider import strict_json
from provider.errors import LaneFull, TooManyOpenJobs, UnpaidEndings
from provider.jobs.model import pace
from provider.jobs.model.codec import job_from_flat
from provider.jobs.model.job import Job, Lease, Place
from provider.jobs.model.job_id import read_place, service_of
from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.store import keys
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.payers import Admission
from provider.services import Service

MOST_RETRY_AFTER_MS = 3_600_000


class Lanes:
    """The queue of each service, over all processes together."""

    def __init__(self, store: JobStore) -> None:
        self._client = store.client
        self._scripts = store.scripts

    # Admission

    def reserve(
        self, service: Service, place: str, *, seconds: float, most_wait_seconds: float,
        payer: Admission | None = None,
    ) -> float:  # fmt: skip
        """Keep a place (`place_for`) in the lane; with `seconds=0` only ask for one.

        Returns the average duration of a job in seconds. Raises LaneFull, and for a payer that pays after the
        work TooManyOpenJobs and UnpaidEndings.
        """
        average_ms = pace.seed_ms(service)
        name = payer.payer if payer else ""
        limits = (
            (payer.most_open, payer.most_unpaid, int(payer.expires_seconds * 1000)) if payer else (0, 0, 0)
        )
        answer = self._scripts(
            "reserve",
            [keys.reserved(service.name), keys.index(service.name), keys.slots(service.name)]
            + [keys.pace(service.name), keys.open_jobs(service.name, name), keys.unpaid(service.name, name)],
            [place, int(seconds * 1000), service.max_queued, int(most_wait_seconds * 1000)]
            + [service.concurrency, average_ms, *Status.PENDING.scores, *Status.QUEUED.scores]
            + [read_place(place)[1], *limits],
        )
        if len(answer) == 2:
            raise (TooManyOpenJobs if answer[0] == "open" else UnpaidEndings)(_seconds(int(answer[1])))
        admitted, _, wait_ms, measured_ms = answer
        if not admitted:
            raise LaneFull(_seconds(wait_ms or average_ms))
        return int(measured_ms) / 1000

    def release(self, service: Service, place: str) -> None:
        """Free a reserved place that led to no claim; its payment may be another call's and stays open."""
        with reaching_redis():
            self._client.zrem(keys.reserved(service.name), place)

    def over(self, service_name: str, until_ms: int, *, limit: int) -> dict[str, int]:
        """Give reserved places that were kept until some time or less, with that time in ms."""
        with reaching_redis():
            found: Any = self._client.zrange(
                keys.reserved(service_name), "-inf", until_ms,
                byscore=True, offset=0, num=limit, withscores=True,
            )  # fmt: skip
        return {place: int(kept_until) for place, kept_until in found}

    def vacate(self, service_name: str, place: str, kept_until_ms: int) -> bool:
        """Drop a reserved place as it was read; False when its job was written or it is kept anew."""
        of_job = keys.job(read_place(place)[0])
        return bool(self._scripts("vacate", [keys.reserved(service_name), of_job], [place, kept_until_ms]))

    def place(self, job: Job, service: Service) -> Place | None:
        """Return where a queued job stands in its lane (Q5); None when it does not stand there."""
        return self.places([job.id], service).get(job.id)

    def places(self, job_ids: Sequence[str], service: Service) -> dict[str, Place]:
        """Return where jobs of one service stand, in one round trip; others are left out."""
        with reaching_redis():
            pipe = node_of(self._client, keys.lane(service.name)).pipeline(transaction=False)
            pipe.zcard(keys.slots(service.name))
            pipe.hget(keys.pace(service.name), "average_ms")
            for job_id in job_ids:
                pipe.zrank(keys.lane(service.name), job_id)
            busy, measured_ms, *ranks = pipe.execute()
        average = pace.average_seconds(service, measured_ms)
        found = zip(job_ids, ranks, strict=True)
        return {i: pace.place_of(service, rank, busy, average) for i, rank in found if rank is not None}

    def expected_seconds(self, service: Service) -> float:
        """Return how long a job of this service is assumed to run: the average, within its budget (Q2)."""
        with reaching_redis():
            measured_ms: str | None = self._client.hget(keys.pace(service.name), "average_ms")  # type: ignore[assignment]
        return pace.expected_seconds(service, measured_ms)

    # Turns

    def lease(self, service: Service, job_id: str, owner: str, *, lease_seconds: float) -> Lease | str:
        """Lease one job: a Lease, or why not ('gone', 'full', 'late')."""
        answer = self._scripts(
            "lease",
            [keys.job(job_id), keys.index(service.name), keys.lane(service.name)]
            + [keys.slots(service.name), keys.due(service.name)],
            [job_id, owner, service.concurrency, int(lease_seconds * 1000)]
            + [int(service.timeout_seconds * 1000), Status.RUNNING.code * INDEX_STEP],
        )
        if isinstance(answer, str):
            return answer
        now, flat = answer
        job = job_from_flat(job_id, flat)
        return Lease(job, owner, lease_seconds, ((job.work_until_ms or now) - now) / 1000)

    def renew(
        self, job_id: str, owner: str, *, lease_seconds: float,
        progress: Mapping[str, Any] | None = None, moved_at_ms: int | None = None, reported_at_ms: int = 0,
    ) -> tuple[int, bool] | None:  # fmt: skip
        """Prolong a lease, by 0 seconds not at all: (new version, cancel asked for), or None when it is lost.

        Progress that comes through several processes says when it was told: what is older is not written.
        """
        service = service_of(job_id)
        pairs = [] if progress is None else ["progress", strict_json.dumps(progress)]
        pairs += [] if moved_at_ms is None else ["moved_at_ms", str(moved_at_ms)]
        pairs += ["reported_at_ms", str(reported_at_ms)] if reported_at_ms else []
        answer = self._scripts(
            "renew",
            [keys.job(job_id), keys.slots(service), keys.due(service)],
            [job_id, owner, int(lease_seconds * 1000), reported_at_ms, *pairs],
        )
        return None if answer is None else (int(answer[0]), bool(answer[1]))

    def look(self, job_id: str, owner: str) -> bool | None:
        """Return whether a cancel was asked for, or None when the lease is lost: `renew` without a write."""
        with reaching_redis():
            holder, cancel = self._client.hmget(keys.job(job_id), ["owner", "cancel"])
        return cancel == "1" if holder == owner else None

    def ready(self, job: Job) -> bool:
        """Let a job that waited for its next try into the lane (R6)."""
        places = [keys.job(job.id), keys.lane(job.service), keys.due(job.service)]
        return self._scripts("ready", places, [job.id, job.version]) is not None

    def load(self, service_name: str) -> tuple[int, int]:
        """Count the jobs that wait in a lane, and those that run."""
        with reaching_redis():
            pipe = node_of(self._client, keys.lane(service_name)).pipeline(transaction=False)
            pipe.zcard(keys.lane(service_name))
            pipe.zcard(keys.slots(service_name))
            waiting, busy = pipe.execute()
        return int(waiting), int(busy)

    def next(self, service_name: str, count: int) -> list[str]:
        """Give the ids of the jobs that are next in a lane."""
        if count <= 0:
            return []
        with reaching_redis():
            return list(self._client.zrange(keys.lane(service_name), 0, count - 1))  # type: ignore[arg-type]

    def learn(self, service: Service, duration_seconds: float) -> None:
        """Learn how long the service's handler takes (Q2)."""
        learnt = [int(duration_seconds * 1000), pace.seed_ms(service), pace.NEWEST_WEIGHT]
        self._scripts("pace", [keys.pace(service.name)], learnt)


def _seconds(retry_ms: int) -> int:
    """Round a wait up to whole seconds, as Retry-After has them."""
    return max(1, -(-min(retry_ms, MOST_RETRY_AFTER_MS) // 1000))
