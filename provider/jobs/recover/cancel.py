"""Cancelling, for buyers and operators (R7). What a job's status says decides what it takes."""

from collections import Counter
from collections.abc import Collection

import structlog

from provider.errors import (
    CancelRefused,
    ForfeitRequired,
    JobFinished,
    JobNotFound,
    PaymentPending,
    PaymentUncertain,
    SettlementBegun,
)
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.run.transitions import Outcomes
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.listing import JobIndex
from provider.jobs.store.payers import Payers
from provider.settings import Settings

log = structlog.get_logger()

CANCEL_ASKED = "job_cancel_asked"
CANCELLED, STOPPING, LEFT = "cancelled", "stopping", "left"
"""What becomes of jobs that are cancelled together."""


class Canceller:
    """Cancels jobs. Safe beside anything else that moves them: each step compares and sets."""

    def __init__(self, store: JobStore, dispatcher: Dispatcher, settings: Settings) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._outcomes = Outcomes(store, dispatcher, settings)
        self._payers = Payers(store, settings)

    def cancel(self, job_id: str, *, forfeit: bool = False, by_payer: bool = False) -> Job:
        """Cancel a job, or have its handler stopped, and give it as it is then: `cancelled`, or `running`.

        A handler that is to be stopped ends in no other way any more, also when it succeeds meanwhile. What a
        payer cancels after work was done for it counts as left unpaid (S5).
        Raises JobNotFound, StoreUnavailable and CancelRefused, whose class says why.
        """
        job, freed = self._cancel(job_id, frozenset(Status), forfeit, by_payer)
        if freed:
            self._dispatcher.handle(job.id)
        return job

    def cancel_all(
        self, service: str, statuses: Collection[Status], *, forfeit: bool = False
    ) -> Counter[str]:
        """Cancel the jobs of a service that were claimed before now and are in these statuses at their turn.

        What became of them is counted: `cancelled`, `stopping`, `left` (moved on), or the code of a refusal.
        """
        found = JobIndex(self._store).ids(service, statuses)
        counts = Counter(self._outcome(job_id, statuses, forfeit) for job_id in found)
        for job_id in Lanes(self._store).next(service, 1):  # One look is enough for those that are left (Q6).
            self._dispatcher.handle(job_id)
        return counts

    def _outcome(self, job_id: str, statuses: Collection[Status], forfeit: bool) -> str:
        try:
            job, _ = self._cancel(job_id, statuses, forfeit)
        except CancelRefused as refused:
            return refused.code
        except JobNotFound:
            return LEFT
        if job.status is Status.CANCELLED:
            return CANCELLED
        return STOPPING if is_cancelled(job) else LEFT

    def _cancel(
        self, job_id: str, statuses: Collection[Status], forfeit: bool, by_payer: bool = False
    ) -> tuple[Job, bool]:
        """Cancel a job as long as it is in one of these statuses; also returns whether a place got free."""
        freed = False
        while True:
            job = self._store.get(job_id)
            if is_cancelled(job) or job.status not in statuses:
                return job, freed
            if refusal := refuse(job, forfeit=forfeit):
                raise refusal
            taken = self._take(job)
            freed = taken and job.owner is None
            if taken and by_payer:
                self._payers.left_unpaid(job, CANCELLED)

    def _take(self, job: Job) -> bool:
        """Make the one step that a job takes; nothing happens when it changed since it was read."""
        if job.owner is None:  # It waits for its turn, or its output for a settlement that has not begun.
            return self._outcomes.cancel(job)
        if not self._store.ask_cancel(job):
            return False
        log.info(CANCEL_ASKED, job_id=job.id)
        return True


def is_cancelled(job: Job) -> bool:
    """Return whether a job is cancelled, or about to be."""
    return job.status is Status.CANCELLED or (job.status is Status.RUNNING and job.cancel)


def refuse(job: Job, *, forfeit: bool) -> CancelRefused | None:
    """Return why a job cannot be cancelled as it stands; None when it can."""
    if job.is_final:
        return JobFinished(jobStatus=job.status.value)
    if job.status is Status.PENDING:
        return PaymentPending(jobStatus=job.status.value)
    if job.status is Status.PAYMENT_UNCERTAIN:
        return PaymentUncertain(jobStatus=job.status.value)
    if job.is_settling:
        return SettlementBegun(jobStatus=job.status.value)
    if job.charge.refundable and not forfeit:
        return ForfeitRequired(jobStatus=job.status.value)
    return None
