"""Whose turn it is: the next job of a lane for a worker that is free, near or far (Q1, Q6)."""

from contextlib import suppress

from provider.errors import JobNotFound
from provider.jobs.model.job import Lease
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.run.transitions import Outcomes
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.services import Service

MOST_LATE_JOBS = 100
"""Expired jobs that one look clears out of the way before it leaves the rest to the sweep."""


class Dequeuer:
    """Leases the jobs of a lane in their order."""

    def __init__(self, store: JobStore, lanes: Lanes, outcomes: Outcomes, *, lease_seconds: float) -> None:
        self._store = store
        self._lanes = lanes
        self._outcomes = outcomes
        self._lease_seconds = lease_seconds

    def take(self, service: Service, owner: str) -> Lease | None:
        """Lease the next job of a lane; None when there is none to run now."""
        for _ in range(MOST_LATE_JOBS):
            head = self._lanes.next(service.name, 1)
            if not head:
                return None
            job_id = head[0]
            lease = self._lanes.lease(service, job_id, owner, lease_seconds=self._lease_seconds)
            if isinstance(lease, Lease):
                return lease
            if lease == "late":
                self._expire(job_id)
            elif lease == "full":  # The worker that frees a slot reads the lane.
                return None
        return None

    def _expire(self, job_id: str) -> None:
        with suppress(JobNotFound):
            job = self._store.get(job_id)
            if job.status is Status.QUEUED:  # Else another process moved it first.
                self._outcomes.fail(job, ErrorCode.TIMEOUT)
