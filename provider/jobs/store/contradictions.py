"""Jobs whose record the chain contradicts, until an operator has settled each (standard §10, 7)."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from provider import strict_json
from provider.jobs.model.job import Job
from provider.jobs.model.job_id import service_of
from provider.jobs.store import keys
from provider.jobs.store.batch_reads import by_service
from provider.jobs.store.client import reaching_redis
from provider.jobs.store.jobs import JobStore


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What the record says and what the chain says; kept apart from the job, which may be deleted by then."""

    job_id: str
    status: str
    charged: bool
    """By the record; the chain says the opposite."""
    payer: str
    amount: int
    """Atomic units of the token."""
    transaction: str
    reason: str
    found_at_ms: int


class Contradictions:
    """One hash a service."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def add(self, job: Job, transaction: str, reason: str) -> bool:
        """Keep a contradiction; False when it is kept already."""
        at = self._store.now_ms()
        found = Contradiction(
            job.id, job.status.value, job.charged, job.terms.payer, job.terms.amount, transaction, reason, at
        )
        text = strict_json.dumps(asdict(found))
        return bool(self._store.write("HSETNX", keys.contradicted(job.service), job.id, text))

    def list(self, services: Iterable[str] | None = None) -> list[Contradiction]:
        """List those of some services, or all, oldest first."""
        found: list[Contradiction] = []
        for service in self._store.service_names() if services is None else services:
            with reaching_redis():
                texts: list[str] = self._store.client.hvals(keys.contradicted(service))  # type: ignore[assignment]
            found += [Contradiction(**json.loads(text)) for text in texts]
        return sorted(found, key=lambda one: one.found_at_ms)

    def count(self) -> int:
        """Count all of them; asked at each scrape of the metrics."""
        services = self._store.service_names()
        with reaching_redis():
            pipe = self._store.client.pipeline(transaction=False)
            for service in services:
                pipe.hlen(keys.contradicted(service))
            return sum(pipe.execute())

    def settle(self, job_id: str) -> bool:
        """Take one off the list, once the operator has made good what it says; False when it is not on it."""
        return bool(self._store.write("HDEL", keys.contradicted(service_of(job_id)), job_id))


class AuditLater:
    """Jobs that the audit came by before their settlement was over: each is audited when it is."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def put_off(self, job_ids: Iterable[str], seconds: float) -> None:
        """Look at jobs again in some seconds."""
        if ids := list(job_ids):
            at = self._store.now_ms() + seconds * 1000
            self._store.write("ZADD", keys.AUDIT_LATER, *(part for job_id in ids for part in (at, job_id)))

    def due(self, limit: int) -> list[Job]:
        """Take the next jobs; those that are gone are dropped."""
        with reaching_redis():
            ids: list[str] = self._store.client.zrange(
                keys.AUDIT_LATER, "-inf", self._store.now_ms(), byscore=True, offset=0, num=limit
            )  # type: ignore[assignment]
        jobs = [job for group in by_service(ids).values() for job in self._store.get_many(group)]
        self.done(set(ids) - {job.id for job in jobs})
        return jobs

    def done(self, job_ids: Iterable[str]) -> None:
        """Take jobs off the list."""
        if ids := list(job_ids):
            self._store.write("ZREM", keys.AUDIT_LATER, *ids)
