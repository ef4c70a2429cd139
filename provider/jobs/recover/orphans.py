"""What lies in a service's lists without a record.

A record can be deleted by hand, or evicted by a Redis that should not: its id would hold a slot or the head
of a lane for ever. A record that is there but unreadable is never deleted. And a process that dies between
claim key and record leaves a reserved place, which leads to the claim (J7, docs/adr/0003).
"""

from collections.abc import Iterable

import structlog

from provider.jobs.model.deadlines import longest_validity_seconds
from provider.jobs.model.job_id import belongs, read_place
from provider.jobs.store.claims import ClaimKeys
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.services import Service
from provider.settings import Settings

log = structlog.get_logger()

RECORD_MISSING = "job_record_missing"
ABANDONED = "claim_abandoned"


class Orphans:
    """Clears a service's lists."""

    def __init__(self, store: JobStore, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._claims = ClaimKeys(store)
        self._lanes = Lanes(store)

    def clear(self, job_ids: Iterable[str]) -> list[str]:
        """Take those out of all lists that have no record, and name them; others only leave an old lease."""
        cleared = [job_id for job_id in sorted(job_ids) if self._store.unlist(job_id)]
        for job_id in cleared:
            log.error(RECORD_MISSING, job_id=job_id)
        return cleared

    def own(self, service: str, job_ids: Iterable[str]) -> list[str]:
        """Keep the ids of a service's jobs; anything else in its lists names no record."""
        found = list(job_ids)
        if foreign := [job_id for job_id in found if not belongs(job_id, service)]:
            self._store.strike(service, foreign)
            for job_id in foreign:
                log.error(RECORD_MISSING, job_id=job_id)
        return [job_id for job_id in found if job_id not in foreign]

    def give_up(self, service: Service, until_ms: int, limit: int) -> int:
        """Drop the places that were reserved until some time or less; count the claims that end with them.

        Such a claim is kept until its payment has surely expired, and for good if its writer came back.
        """
        given_up = 0
        for place, kept_until_ms in self._lanes.over(service.name, until_ms, limit=limit).items():
            job_id, digest = read_place(place)
            if not belongs(job_id, service.name):
                self._lanes.release(service, place)
                continue
            seconds = longest_validity_seconds(service) + self._settings.orphan_margin_seconds
            ends = self._claims.abandon(digest, job_id, seconds=seconds)
            if not self._lanes.vacate(service.name, place, kept_until_ms):
                self._claims.keep(digest)
            elif ends:
                log.warning(ABANDONED, job_id=job_id)
                given_up += 1
        return given_up

    def clear_heads(self, service: str, count: int) -> tuple[list[str], int]:
        """Give the jobs that are next in a lane, and how many without a record stood before them."""
        cleared = 0
        while True:
            found = self._lanes.next(service, count)
            heads = self.own(service, found)
            missing = self._store.missing(heads)
            if len(heads) == len(found) and not missing:
                return heads, cleared
            cleared += len(self.clear(missing))
