"""Reconciliation: uncertain payments are decided from the chain, settled ones confirmed by it (standard §10).

This module chooses the jobs and records what `quorum` decides. Each record is a compare-and-set from
payment_uncertain, so any number of runs may go on at once.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import structlog

from provider.chain.rpc import StellarRpc
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.reconcile.audit import Audit
from provider.jobs.reconcile.decide import Decision, Verdict
from provider.jobs.reconcile.inquiry import undecided
from provider.jobs.reconcile.quorum import Quorum
from provider.jobs.store import metrics
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.metrics import Figures, counted, timed
from provider.jobs.store.reconcile_cursor import Cursors
from provider.settings import Settings

log = structlog.get_logger()

RECONCILED = "reconciled"
NOT_PAID = "payment_not_on_chain"
LIMIT = 500
"""Most uncertain jobs of a run (standard §10)."""
AUDIT_AT_LEAST = 200
"""Settled jobs that each run audits, however many uncertain ones there are."""


class Recorder(Protocol):
    """Records outcomes by compare-and-set from payment_uncertain: the `Settler`."""

    def record_paid(self, job_id: str, transaction: str, ledger: int | None = None) -> bool: ...

    def record_unpaid(self, job_id: str, reason: str) -> bool: ...


@dataclass(slots=True)
class ReconcileReport:
    """What a run found."""

    decisions: list[Decision] = field(default_factory=list)
    confirmed: int = 0
    """Settled jobs whose record agrees with the chain."""
    contradictions: list[Decision] = field(default_factory=list)
    """What the chain says about finished jobs whose record says the opposite."""
    rpc_calls: int = 0
    dry_run: bool = False

    @property
    def counts(self) -> Counter[str]:
        """Count the decisions by verdict."""
        return Counter(decision.verdict.value for decision in self.decisions)


class Reconciler:
    """Decides by the first RPC; each other one must agree before a payment is called unpaid."""

    def __init__(
        self, store: JobStore, rpcs: Sequence[StellarRpc], recorder: Recorder, settings: Settings
    ) -> None:
        if not rpcs:
            raise ValueError("a reconciler needs a Stellar RPC")
        self._store = store
        self._rpcs = rpcs
        self._recorder = recorder
        self._settings = settings
        self._cursors = Cursors(store)
        self._figures = Figures(store)

    def run(self, job_id: str | None = None, limit: int = LIMIT, dry_run: bool = False) -> ReconcileReport:
        """Decide one job, or up to `limit` in turn. A dry run changes nothing. Raises JobNotFound."""
        started = time.monotonic()
        quorum = Quorum(self._rpcs, self._settings, all_pages=job_id is not None)
        report = ReconcileReport(dry_run=dry_run)
        if job_id is not None:
            jobs = [self._store.get(job_id)]
            open_jobs = [job for job in jobs if job.status is Status.PAYMENT_UNCERTAIN]
            report.decisions = self._decide(quorum, open_jobs) or [_explain(jobs[0])]
        else:
            jobs = self._cursors.uncertain(limit, advance=not dry_run)
            report.decisions = self._decide(quorum, jobs)
        if not dry_run:
            report.decisions = [self._record(decision) for decision in report.decisions]
            if job_id is None:
                self._audit(quorum, report, max(AUDIT_AT_LEAST, limit - len(jobs)))
                self._note(report, time.monotonic() - started)
        report.rpc_calls = quorum.calls
        self._report(report)
        return report

    def _decide(self, quorum: Quorum, jobs: Sequence[Job]) -> list[Decision]:
        """Keep undecided what cannot be recorded: a paid job is never reported as unpaid (§10, 6)."""
        decisions = zip(jobs, quorum.decide(jobs), strict=True)
        return [_undelivered(found) if _is_missed(job, found) else found for job, found in decisions]

    def _audit(self, quorum: Quorum, report: ReconcileReport, limit: int) -> None:
        report.confirmed, report.contradictions = Audit(self._store, self._cursors, quorum).run(limit)

    def _record(self, decision: Decision) -> Decision:
        """Record a decision, unless another one was faster: the first stands (J4)."""
        if decision.verdict is Verdict.PAID:
            recorded = self._recorder.record_paid(decision.job_id, decision.transaction, decision.ledger)
        elif decision.verdict is Verdict.UNPAID:
            recorded = self._recorder.record_unpaid(decision.job_id, NOT_PAID)
        else:
            return decision
        return replace(decision, recorded=recorded)

    def _note(self, report: ReconcileReport, seconds: float) -> None:
        amounts = timed(metrics.RECONCILE_SECONDS, seconds)
        amounts |= counted(metrics.CONTRADICTIONS, by=len(report.contradictions))
        for verdict, count in Counter(d.verdict for d in report.decisions if d.recorded).items():
            amounts |= counted(metrics.DECISIONS, verdict.value, by=count)
        self._figures.add(amounts, stamp=metrics.RECONCILED_AT)

    def _report(self, report: ReconcileReport) -> None:
        reasons = Counter(d.reason for d in report.decisions if d.verdict is Verdict.UNDECIDED)
        log.info(
            RECONCILED,
            decisions=dict(report.counts),
            undecided=dict(reasons.most_common(3)),
            confirmed=report.confirmed,
            contradictions=len(report.contradictions),
            rpc_calls=report.rpc_calls,
        )


def _is_missed(job: Job, decision: Decision) -> bool:
    """Return whether a payment was made for an output that is missing."""
    return decision.verdict is Verdict.PAID and job.lacks_output


def _undelivered(decision: Decision) -> Decision:
    reason = f"{decision.reason}, but the output is missing"
    return replace(decision, verdict=Verdict.UNDECIDED, reason=reason)


def _explain(job: Job) -> Decision:
    return undecided(job, f"the job is {job.status.value}; only payment_uncertain jobs are decided here")
