"""Running: lease the lane's next job, have its handler watched, record what came of it (§7)."""

import secrets
import time
from collections.abc import Callable

import structlog

from provider.errors import JobNotFound, ServiceNotFound, StoreRefused, StoreUnavailable
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.model.job import Job, Lease
from provider.jobs.model.status import ErrorCode
from provider.jobs.run.dequeue import Dequeuer
from provider.jobs.run.handler_process import HandlerProcess
from provider.jobs.run.messages import Order, Succeeded
from provider.jobs.run.supervisor import Supervisor
from provider.jobs.run.transitions import DROPPED, Outcomes, name_of
from provider.jobs.store import metrics
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.metrics import Figures, timed
from provider.services import Registry, Service
from provider.settings import Settings

log = structlog.get_logger()

STRANDED = "service_not_offered"
NOT_STORED = "result_refused_by_store"
TURN_SECONDS = 1.0
STORE_RETRY_SECONDS = 0.5


class Runner:
    """Runs jobs, one at a time, in one worker process."""

    def __init__(
        self, store: JobStore, registry: Registry, dispatcher: Dispatcher, settings: Settings
    ) -> None:
        self._store = store
        self._registry = registry
        self._dispatcher = dispatcher
        self._settings = settings
        self._lanes = Lanes(store)
        self._figures = Figures(store)
        self._outcomes = Outcomes(store, dispatcher, settings)
        self._dequeuer = Dequeuer(store, self._lanes, self._outcomes, lease_seconds=settings.lease_seconds)
        self._supervisor = Supervisor(store, self._lanes, HandlerProcess(registry))

    def run_lane(self, service_name: str) -> None:
        """Run jobs of a lane until it has none for us, or for a while; then leave the rest to a message.

        Whoever frees a slot looks into the lane (Q6), so a job that found all slots taken needs no wake-up of
        its own. Queues that share a worker take turns: a lane gives way after `TURN_SECONDS`.
        """
        gives_way_at = time.monotonic() + TURN_SECONDS
        while (job_id := self.run_next(service_name)) is not None:
            if time.monotonic() >= gives_way_at:
                self._dispatcher.handle(job_id)
                return

    def run_next(self, service_name: str) -> str | None:
        """Run the next job of a lane; its id, or None when there is none to run now (Q6)."""
        try:
            service = self._registry.get(service_name)
        except ServiceNotFound:
            log.warning(STRANDED, service=service_name)
            return None
        if service.remote:  # A forged message: remote workers claim for themselves.
            return None
        lease = self._dequeuer.take(service, secrets.token_hex(8))
        if lease is None:
            return None
        self._run(service, lease)
        return lease.job.id

    def _run(self, service: Service, lease: Lease) -> None:
        job = lease.job
        try:
            report = self._supervisor.watch(
                lease, self._order(service, lease), stall_seconds=service.stall_seconds
            )
        except BaseException as error:
            self._until_stored(job, self._give_up(service, error))
            raise
        self._until_stored(
            report.job, lambda job: self._outcomes.record(service, job, report.end, report.progress)
        )
        self._figures.add(timed(metrics.HANDLER_SECONDS, report.seconds, service.name, name_of(report.end)))
        if isinstance(report.end, Succeeded):
            self._lanes.learn(service, report.seconds)

    def _give_up(self, service: Service, error: BaseException) -> Callable[[Job], bool]:
        """Choose what becomes of a job whose watch broke off: only what is not its fault costs no start."""
        if isinstance(error, Exception) and not isinstance(error, StoreUnavailable):
            return lambda job: self._outcomes.interrupted(job, service)
        return self._outcomes.hand_back

    def _give_up_output(self, job: Job) -> bool:
        return self._outcomes.fail(job, ErrorCode.OUTPUT_INVALID)

    def _order(self, service: Service, lease: Lease) -> Order:
        job = lease.job
        work = (frozenset(), {}) if job.is_first_start else self._store.work(job.id)
        limits = self._store.limits
        return Order(job.id, service.name, job.input, job.starts, lease.budget_seconds, *work, limits)

    def _until_stored(self, job: Job, move: Callable[[Job], bool]) -> None:
        """Make a move, waiting for Redis while it is away: a paid result is never dropped for that.

        After a lost reply the record tells whether the move was made: then this worker owns nothing any more,
        and the wake-up is sent again. So it is when the lease was lost meanwhile. What Redis refuses for good
        ends the job, without its output.
        """
        owner = job.owner
        while True:
            try:
                if move(job):
                    return
            except StoreUnavailable:
                time.sleep(STORE_RETRY_SECONDS)
            except StoreRefused as error:
                log.error(NOT_STORED, job_id=job.id, detail=error.detail)
                if move == self._give_up_output:
                    raise
                move = self._give_up_output
            try:
                job = self._store.get(job.id)
            except StoreUnavailable:
                continue
            except JobNotFound:
                return
            if job.owner != owner:
                log.warning(DROPPED, job_id=job.id, status=job.status)
                self._outcomes.wake(job)
                return
