"""Cancelling, for buyers and operators (R7). What a job's status says decides what it takes."""

import structlog

from config.settings import Settings
from provider.errors import (
    CancelRefused,
    ForfeitRequired,
    JobFinished,
    PaymentPending,
    PaymentUncertain,
    SettlementBegun,
)
from provider.jobs.dispatch import Dispatcher
from provider.jobs.models import Job, Status
from provider.jobs.outcomes import Outcomes
from provider.jobs.store import JobStore
from provider.services import ChargePolicy

log = structlog.get_logger()

CANCEL_ASKED = "job_cancel_asked"


class Canceller:
    """Cancels jobs. Safe beside anything else that moves them: each step compares and sets."""

    def __init__(self, store: JobStore, dispatcher: Dispatcher, settings: Settings) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._outcomes = Outcomes(store, dispatcher, settings)

    def cancel(self, job_id: str, *, forfeit: bool = False) -> Job:
        """Cancel a job, or have its handler stopped, and give it as it is then: `cancelled`, or `running`.

        A handler that is to be stopped ends in no other way any more, also when it succeeds meanwhile.
        Raises JobNotFound, StoreUnavailable and CancelRefused, whose class says why.
        """
        while True:
            job = self._store.get(job_id)
            if is_cancelled(job):
                return job
            if refusal := refuse(job, forfeit=forfeit):
                raise refusal
            self._take(job)

    def _take(self, job: Job) -> None:
        """Make the one step that a job takes; nothing happens when it changed since it was read."""
        if job.owner is None:  # It waits for its turn, or its output for a settlement that has not begun.
            if self._outcomes.cancel(job):
                self._dispatcher.handle(job.id)
        elif self._store.ask_cancel(job):
            log.info(CANCEL_ASKED, job_id=job.id)


def is_cancelled(job: Job) -> bool:
    """Tell whether a job is cancelled, or about to be."""
    return job.status is Status.CANCELLED or (job.status is Status.RUNNING and job.cancel)


def refuse(job: Job, *, forfeit: bool) -> CancelRefused | None:
    """Tell why a job cannot be cancelled as it stands; None when it can."""
    if job.is_final:
        return JobFinished(jobStatus=job.status.value)
    if job.status is Status.PENDING:
        return PaymentPending(jobStatus=job.status.value)
    if job.status is Status.PAYMENT_UNCERTAIN:
        return PaymentUncertain(jobStatus=job.status.value)
    if job.is_settling:
        return SettlementBegun(jobStatus=job.status.value)
    if job.charge is ChargePolicy.UPFRONT and not forfeit:
        return ForfeitRequired(jobStatus=job.status.value)
    return None
