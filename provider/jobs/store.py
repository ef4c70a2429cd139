"""The job store: one thin typed method for each script, and the reads beside them.

All times inside are Redis `TIME` (C6). A method that lost a race returns None or False: a normal answer.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.retry import Retry

from provider.errors import JobNotFound, LaneFull, StoreUnavailable
from provider.jobs import keys
from provider.jobs.models import FINAL, INDEX_STEP, MOVES, Draft, Job, Lease, Place, Status, job_from_hash
from provider.jobs.scripting import Scripts
from provider.services import Service

T = TypeVar("T")
PACE_WEIGHT = 0.1
"""Weight of the newest duration in the average of a lane (Q2)."""


def connect(url: str, *, timeout_seconds: float = 2.0, **options: Any) -> "Redis":
    """Open the store's client. One reconnect after a lost connection, none after a time-out (C5)."""
    retry = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
    return Redis.from_url(
        url,
        decode_responses=True,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=retry,
        **options,
    )


@contextmanager
def reaching_redis() -> Iterator[None]:
    """Turn every Redis error into StoreUnavailable."""
    try:
        yield
    except RedisError as error:
        raise StoreUnavailable from error


def _index_range(status: Status) -> tuple[int, str]:
    return status.code * INDEX_STEP, f"({(status.code + 1) * INDEX_STEP}"


def _job(job_id: str, flat: list[str]) -> Job:
    return job_from_hash(job_id, dict(zip(flat[::2], flat[1::2], strict=True)))


class JobStore:
    """Jobs in Redis. Raises StoreUnavailable whenever Redis does not answer."""

    def __init__(self, client: "Redis") -> None:
        self.client = client
        self.scripts = Scripts(client)
        self._announced: set[str] = set()

    def ping(self) -> None:
        """Answer when Redis does."""
        with reaching_redis():
            self.client.ping()

    def get(self, job_id: str) -> Job:
        """Read one job. Raises JobNotFound."""
        try:
            key = keys.job(job_id)
        except ValueError:
            raise JobNotFound from None
        with reaching_redis():
            record: dict[str, str] = self.client.hgetall(key)  # type: ignore[assignment]
        if not record:
            raise JobNotFound
        return job_from_hash(job_id, record)

    # Lanes

    def reserve(self, service: Service, job_id: str, *, seconds: float, most_wait_seconds: float) -> None:
        """Keep a place in the lane; with `seconds=0` only ask for one. Raises LaneFull."""
        average_ms = int(service.seed_seconds * 1000)
        admitted, _, wait_ms = self.scripts(
            "reserve",
            [keys.reserved(service.name), keys.index(service.name), keys.slots(service.name)]
            + [keys.pace(service.name)],
            [job_id, int(seconds * 1000), service.max_queued, int(most_wait_seconds * 1000)]
            + [service.concurrency, average_ms]
            + [*_index_range(Status.PENDING), *_index_range(Status.QUEUED)],
        )
        if not admitted:
            raise LaneFull(retry_after_seconds=max(1, -(-min(wait_ms or average_ms, 3_600_000) // 1000)))

    def release(self, job_id: str) -> None:
        """Free a reserved place that led to no job."""
        with reaching_redis():
            self.client.zrem(keys.reserved(keys.split(job_id)[0]), job_id)

    def place(self, job: Job, service: Service) -> Place | None:
        """Tell where a queued job stands in its lane (Q5); None when it does not stand there."""
        with reaching_redis():
            pipe = self.client.pipeline(transaction=False)
            pipe.zrank(keys.lane(job.service), job.id)
            pipe.zcard(keys.slots(job.service))
            pipe.hget(keys.pace(job.service), "average_ms")
            rank, busy, average = pipe.execute()
        if rank is None:
            return None
        average_seconds = float(average) / 1000 if average else service.seed_seconds
        ahead = max(0, rank + busy - service.concurrency + 1)
        return Place(rank + 1, round(ahead / service.concurrency * average_seconds))

    def note_missed(self, service: Service) -> None:
        """Note that a wake-up found the lane full, so that whoever frees a slot sends another (Q6)."""
        with reaching_redis():
            self.client.hincrby(keys.pace(service.name), "missed", 1)

    def pace(self, service: Service, duration_seconds: float | None) -> bool:
        """Learn a handler's duration; tell whether a wake-up is owed to the lane (Q6)."""
        duration = "" if duration_seconds is None else int(duration_seconds * 1000)
        seed = int(service.seed_seconds * 1000)
        return bool(self.scripts("pace", [keys.pace(service.name)], [duration, seed, PACE_WEIGHT]))

    # Records

    def create(self, job_id: str, draft: Draft) -> Job | None:
        """Write a job in place of its reservation, or give the one that was; None without a reservation."""
        service = keys.split(job_id)[0]
        self._announce(service)
        record = self.scripts(
            "create",
            [keys.job(job_id), keys.index(service), keys.lane(service), keys.due(service)]
            + [keys.reserved(service)],
            [job_id, draft.status.value, draft.status.code * INDEX_STEP, int(draft.window_seconds * 1000)]
            + [int(draft.expires_seconds * 1000), int(draft.look_seconds * 1000)]
            + ["terms", draft.terms.dumps(), "input", draft.input, "payment", draft.payment],
        )
        return _job(job_id, record) if record else None

    def _announce(self, service: str) -> None:
        """List the service once per process, before its first job, so that stranded jobs are found (Q7)."""
        if service not in self._announced:
            with reaching_redis():
                self.client.sadd(keys.SERVICES, service)
            self._announced.add(service)

    def move(
        self,
        job: Job,
        target: Status,
        fields: Mapping[str, Any] | None = None,
        *,
        drop: tuple[str, ...] = (),
        owner: str | None = None,
        enter: str = "",
        look_seconds: float | None = None,
        stamp: str = "",
        version: int | None = None,
    ) -> int | None:
        """Move a job as it was read to another status; None when it changed meanwhile.

        Raises ValueError for a move that standard J4 does not have.
        """
        if target not in MOVES[job.status]:
            raise ValueError(f"no move from {job.status} to {target}")
        if target in FINAL:
            stamp, drop = "finished_at_ms", (*drop, *LEAVES_WHEN_FINAL)
        pairs = [text for pair in (fields or {}).items() for text in pair]
        look = "" if look_seconds is None else max(0, int(look_seconds * 1000))
        answer = self.scripts(
            "move",
            [keys.job(job.id), keys.index(job.service), keys.lane(job.service)]
            + [keys.slots(job.service), keys.due(job.service)],
            [job.id, version or job.version, owner or "", target.value, target.code * INDEX_STEP]
            + [enter, look, stamp, len(drop), *drop, *pairs],
        )
        return None if answer is None else int(answer)

    # Leases

    def lease(self, service: Service, job_id: str, owner: str, *, lease_seconds: float) -> Lease | str:
        """Lease one job: a Lease, or why not ('gone', 'full', 'late')."""
        answer = self.scripts(
            "lease",
            [keys.job(job_id), keys.index(service.name), keys.lane(service.name)]
            + [keys.slots(service.name), keys.due(service.name)],
            [job_id, owner, service.concurrency, int(lease_seconds * 1000)]
            + [int(service.timeout_seconds * 1000), Status.RUNNING.code * INDEX_STEP],
        )
        if isinstance(answer, str):
            return answer
        now, flat = answer
        job = _job(job_id, flat)
        budget = ((job.work_until_ms or now) - now) / 1000
        return Lease(job, owner, job.version, lease_seconds, budget)

    def head(self, service_name: str) -> str | None:
        """Give the id of the job that is next in the lane."""
        with reaching_redis():
            ids: list[str] = self.client.zrange(keys.lane(service_name), 0, 0)  # type: ignore[assignment]
        return ids[0] if ids else None

    def renew(
        self, job_id: str, owner: str, *, lease_seconds: float, progress: Mapping[str, Any] | None = None
    ) -> tuple[int, bool] | None:
        """Prolong a lease: (new version, cancel asked for), or None when it is lost."""
        service = keys.split(job_id)[0]
        pairs = [] if progress is None else ["progress", json.dumps(progress, separators=(",", ":"))]
        answer = self.scripts(
            "renew",
            [keys.job(job_id), keys.slots(service), keys.due(service)],
            [job_id, owner, int(lease_seconds * 1000), *pairs],
        )
        return None if answer is None else (int(answer[0]), bool(answer[1]))

    # Settlement

    def begin_settlement(self, job: Job, settler: str, *, give_up_seconds: float) -> int | None:
        """Take the one right to settle (S4); None when somebody has it or the job changed."""
        answer = self.scripts(
            "begin_settlement",
            [keys.job(job.id), keys.due(job.service)],
            [job.id, job.version, settler, int(give_up_seconds * 1000)],
        )
        return None if answer is None else int(answer)

    def withdraw_settlement(self, job_id: str, settler: str, *, look_seconds: float) -> int | None:
        """Give the right to settle back when provably nothing was sent (S4)."""
        service = keys.split(job_id)[0]
        answer = self.scripts(
            "withdraw_settlement",
            [keys.job(job_id), keys.due(service)],
            [job_id, settler, int(look_seconds * 1000)],
        )
        return None if answer is None else int(answer)


LEAVES_WHEN_FINAL = (
    "payment",
    "owner",
    "settler",
    "lease_until_ms",
    "work_until_ms",
    "not_before_ms",
    "deadline_ms",
    "cancel",
)
"""Fields a finished record no longer needs."""
