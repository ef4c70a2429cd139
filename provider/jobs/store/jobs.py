"""The job store: one thin typed method for each script, and the reads beside them.

All times inside are Redis `TIME` (C6). A method that lost a race returns None or False: a normal answer.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from redis import Redis

from provider.errors import JobNotFound
from provider.jobs.model.codec import job_from_flat, job_from_hash, readable
from provider.jobs.model.due import kept_seconds
from provider.jobs.model.job import LEAVES_UNCHARGED, LEAVES_WHEN_FINAL, Draft, Job, Written
from provider.jobs.model.job_id import place_for, service_of
from provider.jobs.model.status import FINAL, INDEX_STEP, MOVES, Status
from provider.jobs.store import keys
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.scripts import Scripts
from provider.services.checkpoints import DEFAULT_LIMITS, CheckpointLimits


class JobStore:
    """Jobs in Redis. Raises StoreUnavailable whenever Redis does not answer."""

    def __init__(
        self,
        client: "Redis",
        *,
        retention_seconds: float = 7 * 86400.0,
        uncharged_retention_seconds: float = 3600.0,
        limits: CheckpointLimits = DEFAULT_LIMITS,
    ) -> None:
        self.client = client
        self.limits = limits
        self._retention_seconds = retention_seconds
        self._uncharged_retention_seconds = uncharged_retention_seconds
        self.scripts = Scripts(client)

    def ping(self) -> None:
        """Answer when Redis does."""
        with reaching_redis():
            self.client.ping()

    def now_ms(self, service: str = "") -> int:
        """Return the time in ms, by the clock of the node that holds a service (C6), or what is common."""
        with reaching_redis():
            seconds, micros = node_of(self.client, keys.due(service) if service else keys.SERVICES).time()
        return int(seconds) * 1000 + int(micros) // 1000

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

    # Records

    def create(self, job_id: str, draft: Draft) -> Written | None:
        """Write a job in place of its reservation, or give the one that was; None without a reservation."""
        service = service_of(job_id)
        self._announce(service)
        answer = self.scripts(
            "create",
            [keys.job(job_id), keys.index(service), keys.lane(service), keys.due(service)]
            + [keys.reserved(service), keys.slots(service)],
            [job_id, draft.status.value, draft.status.code * INDEX_STEP, _ms(draft.window_seconds)]
            + [int(draft.expires_seconds * 1000), _ms(draft.look_seconds)]
            + [place_for(job_id, draft.terms.claim)]
            + ["terms", draft.terms.dumps(), "input", draft.input, "payment", draft.payment],
        )
        return Written(job_from_flat(job_id, answer[0]), *answer[1:]) if answer else None

    def _announce(self, service: str) -> None:
        """List the service before each job: a restored store may have lost it (Q7)."""
        with reaching_redis():
            self.client.sadd(keys.SERVICES, service)

    def move(
        self,
        job: Job,
        target: Status,
        fields: Mapping[str, Any] | None = None,
        *,
        drop: tuple[str, ...] = (),
        owner: str | None = None,
        enter: str = "",
        look: float | Literal["deadline"] | None = None,
    ) -> int | None:
        """Move a job as it was read to another status; None when it changed meanwhile.

        It leaves its slot, and its lane unless `enter="lane"`. `look` is when the sweep must look at it, in
        seconds from now; a final job is looked at when its retention is over.
        Raises ValueError for a move that standard J4 does not have, and for a success without an output.
        """
        if target not in MOVES[job.status]:
            raise ValueError(f"no move from {job.status} to {target}")
        if target is Status.SUCCEEDED and job.output is None and "output" not in (fields or {}):
            raise ValueError(f"{job.id} has no output to succeed with")
        stamp, charged = "", job.charged or target is Status.SUCCEEDED
        if target in FINAL:
            stamp = "finished_at_ms"
            look = self.kept_seconds(job, charged=charged) - self.retention_seconds(charged=charged)
            drop = (*drop, *LEAVES_WHEN_FINAL, *(() if charged else LEAVES_UNCHARGED))
        when = "" if look is None else look if isinstance(look, str) else max(0, int(look * 1000))
        pairs = [text for pair in (fields or {}).items() for text in pair]
        service = job.service
        answer = self.scripts(
            "move",
            [keys.job(job.id), keys.index(service), keys.lane(service)]
            + [keys.slots(service), keys.due(service), keys.work(job.id)]
            + [keys.open_jobs(service, job.terms.payer), keys.kept(service, charged=charged)],
            [job.id, job.version, owner or "", target.value, target.code * INDEX_STEP]
            + [enter, when, stamp, job.terms.claim, len(drop), *drop, *pairs],
        )
        return None if answer is None else int(answer)

    def retention_seconds(self, *, charged: bool) -> float:
        """Return the setting: how long finished jobs are kept, as it is now."""
        return (
            self._retention_seconds
            if charged
            else min(self._uncharged_retention_seconds, self._retention_seconds)
        )

    def kept_seconds(self, job: Job, *, charged: bool) -> float:
        """Return how long after its end a job is kept (J15)."""
        return kept_seconds(
            job.terms,
            charged=charged,
            retention_seconds=self._retention_seconds,
            uncharged_seconds=self._uncharged_retention_seconds,
        )

    def ask_cancel(self, job: Job) -> int | None:
        """Have the handler of a job stopped by its lease holder (R7); None when the lease has changed."""
        answer = self.scripts("ask_cancel", [keys.job(job.id)], [job.owner])
        return None if answer is None else int(answer)

    # Settlement

    def begin_settlement(self, job: Job, settler: str, *, give_up_seconds: float) -> int | None:
        """Take the one right to settle (S4); None when it is taken or the job changed."""
        answer = self.scripts(
            "begin_settlement",
            [keys.job(job.id), keys.due(job.service)],
            [job.id, job.version, settler, int(give_up_seconds * 1000)],
        )
        return None if answer is None else int(answer)

    def withdraw_settlement(self, job_id: str, settler: str, *, look_seconds: float) -> int | None:
        """Give the right to settle back when provably nothing was sent (S4)."""
        service = service_of(job_id)
        answer = self.scripts(
            "withdraw_settlement",
            [keys.job(job_id), keys.due(service)],
            [job_id, settler, int(look_seconds * 1000)],
        )
        return None if answer is None else int(answer)

    # What the sweep looks at

    def service_names(self) -> list[str]:
        """Name every service that ever had a job."""
        with reaching_redis():
            return sorted(self.client.smembers(keys.SERVICES))  # type: ignore[arg-type]

    def due(self, service: str, now_ms: int, *, limit: int) -> list[str]:
        """Give the ids of a service that must be looked at by now, longest due first.

        A slot whose lease is over belongs to one of them, or to none: then it is named last.
        """
        with reaching_redis():
            pipe = node_of(self.client, keys.due(service)).pipeline(transaction=False)
            for key in (keys.due(service), keys.slots(service)):
                pipe.zrange(key, "-inf", now_ms, byscore=True, offset=0, num=limit)
            due, slots = pipe.execute()
        return list(dict.fromkeys([*due, *slots]))

    def missing(self, job_ids: list[str]) -> list[str]:
        """Return which of several jobs of one service have no record."""
        if not job_ids:
            return []
        with reaching_redis():
            pipe = node_of(self.client, keys.job(job_ids[0])).pipeline(transaction=False)
            for job_id in job_ids:
                pipe.exists(keys.job(job_id))
            return [job_id for job_id, found in zip(job_ids, pipe.execute(), strict=True) if not found]

    def unlist(self, job_id: str) -> bool:
        """Take a job without a record out of every list; False if it has one, or stood in none."""
        service = service_of(job_id)
        lists = [keys.index(service), keys.lane(service), keys.slots(service), keys.due(service)]
        return bool(self.scripts("unlist", [keys.job(job_id), *lists], [job_id]))

    def strike(self, service: str, names: Sequence[str]) -> None:
        """Take what is no id of a job of a service out of its lists."""
        with reaching_redis():
            for of in (keys.index, keys.lane, keys.slots, keys.due):
                self.client.zrem(of(service), *names)

    def get_many(self, job_ids: list[str]) -> list[Job]:
        """Read several jobs of one service in one round trip; what is gone or unreadable is left out."""
        if not job_ids:
            return []
        with reaching_redis():
            pipe = node_of(self.client, keys.job(job_ids[0])).pipeline(transaction=False)
            for job_id in job_ids:
                pipe.hgetall(keys.job(job_id))
            records = pipe.execute()
        return readable(dict(zip(job_ids, records, strict=True)))

    def write(self, command: str, key: str, *args: Any) -> Any:
        """Run a command that writes, also when memory is full: for maintenance and money alone."""
        return self.scripts("write", [key], [command, *args])

    def look_later(self, service: str, job_ids: Sequence[str], seconds: float) -> None:
        """Put the sweep's next look at jobs of a service off, for each that has one and none later."""
        if not job_ids:
            return
        at = self.now_ms(service) + seconds * 1000
        due = [part for job_id in job_ids for part in (at, job_id)]
        self.write("ZADD", keys.due(service), "XX", "GT", *due)

    def forget(self, job: Job) -> bool:
        """Delete a finished job with all it left (J15)."""
        service = job.service
        own = [keys.job(job.id), keys.index(service), keys.due(service), keys.work(job.id)]
        own += [keys.kept(service, charged=charged) for charged in (True, False)]
        return bool(self.scripts("forget", own, [job.id, job.version]))

    def past_retention(self, service: str, now_ms: int, *, limit: int) -> list[str]:
        """Name finished jobs whose retention is over by the settings of now, up to `limit` of each kind."""
        with reaching_redis():
            pipe = node_of(self.client, keys.kept(service)).pipeline(transaction=False)
            for charged in (True, False):
                until_ms = now_ms - int(self.retention_seconds(charged=charged) * 1000)
                key = keys.kept(service, charged=charged)
                pipe.zrange(key, "-inf", until_ms, byscore=True, offset=0, num=limit)
            return [job_id for found in pipe.execute() for job_id in found]

    def keep_longer(
        self, service: str, job_ids: Sequence[str], seconds: float, *, drop: Sequence[str] = ()
    ) -> None:
        """Look at finished jobs again in some seconds; those in `drop` have no record any more."""
        for charged in (True, False):
            key = keys.kept(service, charged=charged)
            if job_ids:
                at = self.now_ms(service) + (seconds - self.retention_seconds(charged=charged)) * 1000
                self.write("ZADD", key, "XX", "GT", *(part for job_id in job_ids for part in (at, job_id)))
            if drop:
                self.write("ZREM", key, *drop)

    # Units of work

    def checkpoint(self, job_id: str, owner: str, unit: str, cursor: str) -> bool:
        """Complete a unit, or note its cursor (JSON text, R5); False when the lease is lost.

        Raises CheckpointRefused for what is larger than the limits allow.
        """
        limits = self.limits
        answer = self.scripts(
            "checkpoint",
            [keys.job(job_id), keys.work(job_id)],
            [owner, unit, cursor, limits.name, limits.cursor, limits.units, limits.total],
        )
        if answer not in ("stored", "lost"):
            raise limits.passed(answer)
        return bool(answer == "stored")

    def work(self, job_id: str) -> tuple[frozenset[str], dict[str, Any]]:
        """Read what earlier attempts did: completed units, and the cursors of open ones."""
        with reaching_redis():
            record: dict[str, str] = self.client.hgetall(keys.work(job_id))  # type: ignore[assignment]
        units = frozenset(name[2:] for name in record if name.startswith("u:"))
        cursors = {name[2:]: json.loads(text) for name, text in record.items() if name.startswith("c:")}
        return units, cursors

    def has_work(self, job_id: str) -> bool:
        """Return whether earlier attempts left checkpoints."""
        with reaching_redis():
            return bool(self.client.exists(keys.work(job_id)))


def _ms(seconds: float) -> int | str:
    """Spell a duration for a script; an infinite one is empty there."""
    return "" if math.isinf(seconds) else int(seconds * 1000)
