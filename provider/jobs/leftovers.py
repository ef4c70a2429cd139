"""What lies in a service's lists without a record: deleted by hand, or evicted by a Redis that should not.

It would hold a slot or the head of a lane for ever. A record that is there but unreadable is never deleted.
"""

from collections.abc import Iterable

import structlog

from provider.jobs.lanes import Lanes
from provider.jobs.store import JobStore

log = structlog.get_logger()

RECORD_MISSING = "job_record_missing"


class Leftovers:
    """Clears a service's lists."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._lanes = Lanes(store)

    def clear(self, job_ids: Iterable[str]) -> list[str]:
        """Take those out of all lists that have no record, and name them; others only leave an old lease."""
        cleared = [job_id for job_id in sorted(job_ids) if self._store.unlist(job_id)]
        for job_id in cleared:
            log.error(RECORD_MISSING, job_id=job_id)
        return cleared

    def clear_heads(self, service: str, count: int) -> tuple[list[str], int]:
        """Give the jobs that are next in a lane, and how many without a record stood before them."""
        cleared = 0
        while missing := self._store.missing(heads := self._lanes.next(service, count)):
            cleared += len(self.clear(missing))
        return heads, cleared
