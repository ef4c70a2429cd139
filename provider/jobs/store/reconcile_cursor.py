"""Where the reconciler stands: what it looks at next (one hash, `keys.RECONCILE_CURSOR`).

A service's name is the field of its uncertain jobs; one with a colon, which no name has, of its audit.
"""

from itertools import takewhile

from provider.jobs.model.job import Job
from provider.jobs.model.job_id import belongs
from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.store import keys
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.jobs import JobStore

CONFIRMED = "{}:confirmed"

AUDITED = tuple(Status)
"""The audit comes by every job whose payment has expired; what is not over by then, it looks at later."""


class Cursors:
    """Chooses the jobs of a run, fairly: over services, and over the jobs that no run can decide."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._client = store.client

    # Uncertain jobs

    def uncertain(self, limit: int, *, advance: bool) -> list[Job]:
        """Take up to `limit` uncertain jobs where the last run stopped; `advance` notes the new place."""
        jobs: list[Job] = []
        for service, quota in self._quotas(limit).items():
            ids, cursor = self._next_uncertain(service, quota)
            if advance:
                self._set(service, cursor)
            jobs += [j for j in self._read(service, ids) if j.status is Status.PAYMENT_UNCERTAIN]
        return jobs

    def _quotas(self, limit: int) -> dict[str, int]:
        """Share the limit out: no service gets more than it has, and what it leaves goes to the others."""
        services = self._store.service_names()
        with reaching_redis():
            pipe = self._client.pipeline(transaction=False)
            for service in services:
                pipe.zcount(keys.index(service), *Status.PAYMENT_UNCERTAIN.scores)
            counts: list[int] = pipe.execute()
        waiting = sorted(zip(counts, services, strict=True))
        quotas: dict[str, int] = {}
        for place, (count, service) in enumerate(waiting):
            quotas[service] = min(count, -(-limit // (len(waiting) - place)))
            limit -= quotas[service]
        return {service: quota for service, quota in quotas.items() if quota > 0}

    def _next_uncertain(self, service: str, quota: int) -> tuple[list[str], str]:
        """Give the next ids, beginning anew after the last one, and the cursor to go on with."""
        index = keys.index(service)
        first, last, start = self._bounds(service, index)
        ids = self._slice(index, start, min(start + quota, last))
        if len(ids) < quota:
            ids += self._slice(index, first, min(first + quota - len(ids), start))
        with reaching_redis():
            score = self._client.zscore(index, ids[-1]) if ids else None
        return ids, f"{score or 0:.0f} {ids[-1]}" if ids else ""

    def _bounds(self, service: str, index: str) -> tuple[int, int, int]:
        """Give the ranks of the first uncertain job, of the one after the last, and of the next in turn."""
        low, high = Status.PAYMENT_UNCERTAIN.scores
        score, _, job_id = (self._get(service) or f"{low} ").partition(" ")
        with reaching_redis():
            pipe = node_of(self._client, index).pipeline(transaction=False)
            for before in (f"({low}", high, f"({score}"):
                pipe.zcount(index, "-inf", before)
            pipe.zrank(index, job_id)
            first, last, below, rank = pipe.execute()
        start = rank + 1 if rank is not None and first <= rank < last else below
        return first, last, min(max(start, first), last)

    def _slice(self, index: str, start: int, end: int) -> list[str]:
        if end <= start:
            return []
        with reaching_redis():
            return list(self._client.zrange(index, start, end - 1))  # type: ignore[arg-type]

    def _read(self, service: str, ids: list[str]) -> list[Job]:
        """Read jobs; what is no id of a job of this service is passed over."""
        return self._store.get_many([job_id for job_id in ids if belongs(job_id, service)])

    # Jobs whose payment has expired, each of which is audited once

    def settled(self, service: str, since_ms: int, limit: int) -> list[Job]:
        """Take the jobs next to be confirmed: claimed after the cursor, payment surely expired, oldest first.

        All claimed in one millisecond are taken together, so that the cursor is a time.
        """
        since = max(since_ms, int(self._get(CONFIRMED.format(service)) or 0))
        index, now_ms = keys.index(service), self._store.now_ms(service)
        with reaching_redis():
            pipe = node_of(self._client, index).pipeline(transaction=True)
            for status in AUDITED:
                low, high = (status.code * INDEX_STEP + ms for ms in (since, now_ms))
                pipe.zrange(index, f"({low}", high, byscore=True, offset=0, num=limit + 1, withscores=True)
            found = [(int(s) % INDEX_STEP, i) for answer in pipe.execute() for i, s in answer]
        found = sorted(found)[: limit + 1]
        if len(found) > limit:
            found = [pair for pair in found if pair[0] < found[-1][0]] or found
        jobs = self._read(service, [job_id for _, job_id in found])
        return list(takewhile(lambda job: job.expires_at_ms <= now_ms, jobs))

    def confirmed(self, service: str, created_at_ms: int) -> None:
        """Note that all jobs claimed up to a time are confirmed."""
        self._set(CONFIRMED.format(service), created_at_ms)

    def _get(self, name: str) -> str | None:
        with reaching_redis():
            text: str | None = self._client.hget(keys.RECONCILE_CURSOR, name)  # type: ignore[assignment]
        return text

    def _set(self, name: str, value: str | int) -> None:
        self._store.write("HSET", keys.RECONCILE_CURSOR, name, value)
