"""Confirming in the background what was recorded on a facilitator's word.

Each job is looked at once, after its payment has expired, when the nonce tells for good. Nothing is decided
anew and nothing is written to a job: a record that contradicts the chain is the operator's business.
"""

from collections.abc import Sequence

import structlog

from provider.jobs.model.job import Job
from provider.jobs.reconcile.decide import Case
from provider.jobs.reconcile.evidence import Decision, Stand, Verdict, is_legible
from provider.jobs.reconcile.quorum import Panel
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.reconcile_cursor import Cursors

log = structlog.get_logger()

CONTRADICTION = "payment_record_contradicts_chain"
MEMORY_MS = 24 * 3_600_000
"""After this time an unused nonce and one whose entry has gone look the same: there is nothing to confirm."""


class Confirmation:
    """One run over the jobs that were settled since the last."""

    def __init__(self, store: JobStore, cursors: Cursors, panel: Panel) -> None:
        self._store = store
        self._cursors = cursors
        self._panel = panel

    def run(self, limit: int) -> tuple[int, list[Decision]]:
        """Look at up to `limit` jobs: how many agree with the chain, and what it says about the others."""
        since_ms = self._store.now_ms() - MEMORY_MS
        services = self._store.service_names()
        taken: dict[str, list[Job]] = {}
        for place, service in enumerate(services):
            share = -(-limit // (len(services) - place))
            taken[service] = self._cursors.settled(service, since_ms, share) if share > 0 else []
            limit -= len(taken[service])
        cases = {case.job.id: case for case in self._panel.cases([j for js in taken.values() for j in js])}
        suspects = [case.job for case in cases.values() if _is_suspect(case)]
        contradictions = self._contradictions(suspects)
        for service, jobs in taken.items():
            self._advance(service, jobs, cases)
        return sum(_agrees(case) for case in cases.values()), contradictions

    def _contradictions(self, suspects: Sequence[Job]) -> list[Decision]:
        found = []
        for job, decision in zip(suspects, self._panel.decide(suspects), strict=True):
            wrong = Verdict.UNPAID if job.charged else Verdict.PAID
            if decision.verdict is wrong:
                found.append(decision)
                about = {"status": job.status.value, "charged": job.charged, "chain": decision.verdict.value}
                log.error(CONTRADICTION, job_id=job.id, reason=decision.reason, **about)
        return found

    def _advance(self, service: str, jobs: Sequence[Job], cases: dict[str, Case]) -> None:
        """Move the cursor over the jobs that the RPC has answered for, up to the first it has not."""
        for job in jobs:
            case = cases.get(job.id)
            if is_legible(job.terms) and (case is None or case.stand is Stand.OPEN):
                break
            self._cursors.confirmed(service, job.created_at_ms)


def _is_suspect(case: Case) -> bool:
    """The nonce does not fit the record; whether that is a contradiction takes a closer look."""
    if case.job.charged:
        return case.stand is Stand.UNUSED
    return case.job.is_final and case.stand is Stand.USED


def _agrees(case: Case) -> bool:
    return case.stand is (Stand.USED if case.job.charged else Stand.UNUSED)
