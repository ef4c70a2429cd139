"""Auditing in the background what was recorded on a facilitator's word (standard §10, 7).

Each job is audited once, after its payment has expired, when the chain can tell for good; one that is not
over by then, as soon as it is. Nothing is decided anew and nothing is written to a job: a record that
contradicts the chain stands on a list until an operator has settled it.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile

import structlog

from provider.jobs.model.job import Job
from provider.jobs.reconcile.decide import Decision, Verdict
from provider.jobs.reconcile.quorum import Quorum
from provider.jobs.store.contradictions import AuditLater, Contradictions
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.reconcile_cursor import Cursors

log = structlog.get_logger()

CONTRADICTION = "payment_record_contradicts_chain"
UNCONFIRMED = "payment_record_not_confirmed"
MEMORY_MS = 24 * 3_600_000
"""How old a claim may be that is still audited, after an RPC was away or none was configured."""
LATE_AT_ONCE = 100
LATER_SECONDS = 60.0
"""Jobs that were not over when the audit came by are looked at again so often, so many in a run."""
PATIENCE_MS = 3_600_000
"""How long one job may hold up the audit of those behind it after its payment expired."""


class Audit:
    """One run over the jobs whose payment expired since the last."""

    def __init__(self, store: JobStore, cursors: Cursors, quorum: Quorum) -> None:
        self._store = store
        self._cursors = cursors
        self._quorum = quorum
        self._later = AuditLater(store)
        self._contradictions = Contradictions(store)

    def run(self, limit: int) -> tuple[int, list[Decision]]:
        """Audit up to `limit` jobs: how many agree with the chain, and what it says about the others."""
        taken, late = self._taken(limit), self._later.due(LATE_AT_ONCE)
        jobs = [job for jobs in taken.values() for job in jobs] + late
        over = [job for job in jobs if job.charged or job.is_final]
        decisions = {found.job_id: found for found in self._quorum.decide(over, audited=True)}
        passed = {service: self._answered(jobs, decisions) for service, jobs in taken.items()}
        answered = [job for jobs in passed.values() for job in jobs]
        heard = [job for job in late if not self._waits(job, decisions)]
        pairs = [(job, decisions[job.id]) for job in [*answered, *heard] if job.id in decisions]
        contradictions = [found for job, found in pairs if self._contradicts(job, found)]
        # Only now are they passed: after a crash the next run finds a contradiction again.
        put_off = [job for job in answered if job.id not in decisions]
        put_off += [job for job in late if job not in heard]
        self._later.put_off((job.id for job in put_off), LATER_SECONDS)
        self._later.done(job.id for job in heard)
        for service, jobs in passed.items():
            if jobs:
                self._cursors.confirmed(service, jobs[-1].created_at_ms)
        return sum(_agrees(job, found) for job, found in pairs), contradictions

    def _waits(self, job: Job, decisions: Mapping[str, Decision]) -> bool:
        """A job that is not over, or about which more will be known, is looked at again."""
        found = decisions.get(job.id)
        return found is None or (found.later and self._store.now_ms() < job.expires_at_ms + MEMORY_MS)

    def _contradicts(self, job: Job, found: Decision) -> bool:
        """Return whether the chain says the opposite of a record; log and keep it."""
        if _agrees(job, found):
            return False
        if found.verdict is Verdict.UNDECIDED:
            log.warning(UNCONFIRMED, job_id=job.id, reason=found.reason)
            return False
        about = {"status": job.status.value, "charged": job.charged, "chain": found.verdict.value}
        log.error(CONTRADICTION, job_id=job.id, reason=found.reason, **about)
        self._contradictions.add(job, found.transaction, found.reason)
        return True

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
