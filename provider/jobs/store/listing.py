"""Pages of jobs for operators, newest first, over several services and statuses (standard §14).

The index of a service holds its jobs by status and time, so a page costs what is on it: a look into each
service and status that was asked for, and a read of the jobs shown, however many there are.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from provider.jobs.model.job import Job
from provider.jobs.model.job_id import split
from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.store import keys
from provider.jobs.store.batch_reads import glance
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.jobs import JobStore

BATCH = 500

Entry = tuple[int, str]
"""When a job was claimed (ms), and its id: the order of a list, which no move of a job changes."""


@dataclass(frozen=True, slots=True)
class JobPage:
    """Some jobs, without payment, input and output."""

    jobs: Sequence[Job]
    after: str | None
    """Where the next page begins; None when this is the last one."""


class JobIndex:
    """Reads the index."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._client = store.client

    def page(
        self,
        services: Collection[str],
        statuses: Collection[Status],
        *,
        since_ms: int = 0,
        limit: int,
        after: str = "",
    ) -> JobPage:
        """Read the next jobs in these statuses, claimed since a time. Raises ValueError for a bad `after`."""
        entries = self._entries(services, statuses, since_ms, limit + 1, _parse(after))
        shown = entries[:limit]
        known = glance(self._store, (job_id for _, job_id in shown))
        jobs = [known[job_id] for _, job_id in shown if job_id in known and known[job_id].status in statuses]
        return JobPage(jobs, f"{shown[-1][0]}:{shown[-1][1]}" if len(entries) > limit else None)

    def ids(self, service: str, statuses: Collection[Status]) -> Iterator[str]:
        """Name all jobs of a service in these statuses, a batch at a time; later claims are left out."""
        last: Entry | None = None
        while batch := self._entries([service], statuses, 0, BATCH, last):
            last = batch[-1]
            yield from (job_id for _, job_id in batch)

    def oldest(self, service: str, statuses: Collection[Status], *, until_ms: int, limit: int) -> list[str]:
        """Name the jobs of a service claimed first and until some time, up to `limit` in each status."""
        with reaching_redis():
            pipe = node_of(self._client, keys.index(service)).pipeline(transaction=False)
            for status in statuses:
                base = status.code * INDEX_STEP
                pipe.zrange(keys.index(service), base, base + until_ms, byscore=True, offset=0, num=limit)
            return [job_id for found in pipe.execute() for job_id in found]

    def _entries(
        self,
        services: Collection[str],
        statuses: Collection[Status],
        since_ms: int,
        limit: int,
        last: Entry | None,
    ) -> list[Entry]:
        found = [
            entry for service in services for entry in self._of(service, statuses, since_ms, limit, last)
        ]
        return sorted(found, reverse=True)[:limit]

    def _of(
        self, service: str, statuses: Collection[Status], since_ms: int, limit: int, last: Entry | None
    ) -> list[Entry]:
        """Read the next entries of each status, at one moment: no job is seen in two of them.

        Those claimed in the millisecond of the last one are few, so they are read whole.
        """
        with reaching_redis():
            pipe = node_of(self._client, keys.index(service)).pipeline(transaction=True)
            for status in statuses:
                _ask(pipe, keys.index(service), status.code * INDEX_STEP, since_ms, limit, last)
            answers = pipe.execute()
        found = [(int(score) % INDEX_STEP, job_id) for answer in answers for job_id, score in answer]
        return [entry for entry in found if last is None or entry < last]


def _ask(pipe: Any, index: str, base: int, since_ms: int, limit: int, last: Entry | None) -> None:
    before = base + INDEX_STEP if last is None else base + last[0]
    oldest = base + since_ms
    pipe.zrange(index, f"({before}", oldest, desc=True, byscore=True, offset=0, num=limit, withscores=True)
    if last is not None and last[0] >= since_ms:
        pipe.zrangebyscore(index, base + last[0], base + last[0], withscores=True)


def _parse(after: str) -> Entry | None:
    if not after:
        return None
    ms, _, job_id = after.partition(":")
    split(job_id)
    return int(ms), job_id
