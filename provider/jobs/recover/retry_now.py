"""Do now what a job waits for, instead of at the sweep's next look (an operator's `retry`).

A final status is never left (J4): what has ended is not tried again, its buyer makes a new call.
"""

from provider.errors import NothingToRetry
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.model.due import may_settle
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.reconcile.decide import Decision
from provider.jobs.reconcile.run import Reconciler
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.services import Registry

NO_RPC = "its payment is uncertain, and only a Stellar RPC can tell: set STELLAR_RPC_URLS"


class Nudge:
    """Nudges one job at a time. Each step is one that sweep or reconciler would make, and as harmless."""

    def __init__(
        self, store: JobStore, registry: Registry, dispatcher: Dispatcher, reconciler: Reconciler | None
    ) -> None:
        self._store = store
        self._registry = registry
        self._dispatcher = dispatcher
        self._reconciler = reconciler
        self._lanes = Lanes(store)

    def retry(self, job_id: str) -> str:
        """Do what the job waits for, and return what that was. Raises NothingToRetry, JobNotFound."""
        job = self._store.get(job_id)
        if job.status is Status.PAYMENT_UNCERTAIN:
            return self._decide(job)
        if job.status is Status.QUEUED:
            return self._wake(job)
        if may_settle(job):
            self._dispatcher.settle(job_id)
            return "its settlement was asked for once more"
        raise NothingToRetry(why_not(job))

    def _wake(self, job: Job) -> str:
        if job.service not in self._registry:
            raise NothingToRetry(
                f"No process offers {job.service!r}: put it into PROVIDER_SERVICES again, or cancel the job."
            )
        done = "its lane was woken"
        if job.not_before_ms is not None and self._lanes.ready(job):
            done = "its pause was ended, and its lane woken"
        self._dispatcher.handle(job.id)
        return done

    def _decide(self, job: Job) -> str:
        if self._reconciler is None:
            raise NothingToRetry(f"Nothing can be done now: {NO_RPC}.")
        report = self._reconciler.run(job.id)
        return _decided(report.decisions[0])


def why_not(job: Job) -> str:
    """Say why there is nothing to do for a job, and what its buyer can do."""
    if job.is_settling:
        return "Its payment is being settled: the facilitator's answer decides, or in time the sweep."
    if not job.is_final:
        return "A worker runs it; should that one be dead, the sweep gives the job to another one."
    if job.status is Status.SUCCEEDED:
        return "The job succeeded, and its output is there."
    again = "The buyer can make a new call with a new payment."
    paid = "It was charged: pay the buyer back if that is not his doing." if job.charged else ""
    return " ".join(filter(None, (f"The job is {job.status.value}, and that is final.", paid, again)))


def _decided(decision: Decision) -> str:
    recorded = "" if decision.recorded else ", nothing was recorded"
    return f"its payment was looked up on the chain: {decision.verdict.value} ({decision.reason}){recorded}"
