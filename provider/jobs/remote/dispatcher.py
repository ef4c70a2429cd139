"""Wake-ups for remote services: their jobs are announced to subscribers, and no message is sent (§11)."""

from collections.abc import Container

import structlog

from provider.errors import StoreError
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.model.job_id import service_of
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.subscription import announce

log = structlog.get_logger()

NOT_ANNOUNCED = "job_not_announced"


class AnnouncingDispatcher:
    """Announces the jobs of remote services, which have no queues; passes on all others."""

    def __init__(self, store: JobStore, others: Dispatcher, remote: Container[str]) -> None:
        self._store = store
        self._others = others
        self._remote = remote

    def handle(self, job_id: str) -> None:
        """Wake the lane of a job."""
        if service_of(job_id) in self._remote:
            self._announce(job_id)
        else:
            self._others.handle(job_id)

    def settle(self, job_id: str) -> None:
        """Have a job's payment settled."""
        self._others.settle(job_id)

    def _announce(self, job_id: str) -> None:
        """Publish to all web processes on the channel of the job's record; repeated while the job waits."""
        try:
            announce(self._store, job_id)
        except StoreError:
            log.warning(NOT_ANNOUNCED, job_id=job_id)
