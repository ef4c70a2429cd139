"""Auditing in the background what was recorded on a facilitator's word (standard §10, 7).

Each job is looked at once, after its payment has expired, when the chain can tell for good. Nothing is
decided anew and nothing is written to a job: a record that contradicts the chain is the operator's business.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile

import structlog

from provider.jobs.model.job import Job
from provider.jobs.reconcile.decide import Decision, Verdict
from provider.jobs.reconcile.quorum import Quorum
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.reconcile_cursor import Cursors

log = structlog.get_logger()

CONTRADICTION = "payment_record_contradicts_chain"
UNCONFIRMED = "payment_record_not_confirmed"
MEMORY_MS = 24 * 3_600_000
"""How old a claim may be that is still audited, after an RPC was away or none was configured."""
PATIENCE_MS = 3_600_000
"""How long one job may hold up the audit of those behind it after its payment expired."""


class Audit:
    """One run over the jobs that were settled since the last."""

    def __init__(self, store: JobStore, cursors: Cursors, quorum: Quorum) -> None:
        self._store = store
        self._cursors = cursors
        self._quorum = quorum

    def run(self, limit: int) -> tuple[int, list[Decision]]:
        """Audit up to `limit` jobs: how many agree with the chain, and what it says about the others."""
        taken = self._taken(limit)
        settled = [job for jobs in taken.values() for job in jobs if job.charged or job.is_final]
        decisions = {found.job_id: found for found in self._quorum.decide(settled, audited=True)}
        pairs = []
        for service, jobs in taken.items():
            if answered := self._answered(jobs, decisions):
                pairs += [(job, decisions[job.id]) for job in answered if job.id in decisions]
                self._cursors.confirmed(service, answered[-1].created_at_ms)
        contradictions = [found for job, found in pairs if _contradicts(job, found)]
        return sum(_agrees(job, found) for job, found in pairs), contradictions

    def _taken(self, limit: int) -> dict[str, list[Job]]:
        """Take the next jobs of each service, in fair shares."""
        since_ms = self._store.now_ms() - MEMORY_MS
        services = self._store.service_names()
        taken: dict[str, list[Job]] = {}
        for place, service in enumerate(services):
            share = -(-limit // (len(services) - place))
            taken[service] = self._cursors.settled(service, since_ms, share) if share > 0 else []
            limit -= len(taken[service])
        return taken

    def _answered(self, jobs: Sequence[Job], decisions: Mapping[str, Decision]) -> list[Job]:
        """Leave out the first job that another run may know more about, and those claimed since."""
        is_away = all(found.later for found in decisions.values())
        now_ms = self._store.now_ms() if jobs else 0

        def waits(job: Job) -> bool:
            found = decisions.get(job.id)
            is_young = now_ms < job.expires_at_ms + PATIENCE_MS
            return found is not None and found.later and (is_away or is_young)

        stop_ms = next((job.created_at_ms for job in jobs if waits(job)), None)
        return list(takewhile(lambda job: stop_ms is None or job.created_at_ms < stop_ms, jobs))


def _agrees(job: Job, found: Decision) -> bool:
    return found.verdict is (Verdict.PAID if job.charged else Verdict.UNPAID)


def _contradicts(job: Job, found: Decision) -> bool:
    """Return whether the chain says the opposite of a record, and log it."""
    if _agrees(job, found):
        return False
    if found.verdict is Verdict.UNDECIDED:
        log.warning(UNCONFIRMED, job_id=job.id, reason=found.reason)
        return False
    about = {"status": job.status.value, "charged": job.charged, "chain": found.verdict.value}
    log.error(CONTRADICTION, job_id=job.id, reason=found.reason, **about)
    return True
