"""Deleting finished jobs before their retention is over, when an operator asks (J15)."""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice

from provider.jobs.model.job import Job
from provider.jobs.model.status import FINAL, Status
from provider.jobs.store.claims import ClaimKeys
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.listing import JobIndex

BATCH = 200


class Purge:
    """Deletes what retention would delete later; a payment that could still land keeps claim and job."""

    def __init__(self, store: JobStore) -> None:
        self._store, self._claims = store, ClaimKeys(store)

    def run(
        self, services: Collection[str], statuses: Collection[Status], *, finished_before_ms: int
    ) -> Counter[str]:
        """Delete jobs in these final statuses; returns how many of each service."""
        if not_final := set(statuses) - FINAL:
            raise ValueError(f"jobs that are {', '.join(sorted(not_final))} are not deleted")
        deleted, now_ms = Counter[str](), self._store.now_ms()
        for service in services:
            for job in self._finished(service, statuses):
                over = job.is_final and (job.finished_at_ms or 0) < finished_before_ms
                if over and job.expires_at_ms <= now_ms:
                    self._claims.outlive(job.terms.claim, until_ms=job.expires_at_ms)
                    deleted[service] += self._store.forget(job)
        return deleted

    def _finished(self, service: str, statuses: Collection[Status]) -> Iterator[Job]:
        ids = JobIndex(self._store).ids(service, statuses)
        while batch := list(islice(ids, BATCH)):
            yield from self._store.get_many(batch)
