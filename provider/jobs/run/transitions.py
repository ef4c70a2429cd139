"""What becomes of a running job: the moves that runner, gateway, sweep and operator share (R2, R6, R7)."""

import random
from collections.abc import Mapping
from typing import Any

import structlog

from provider import strict_json
from provider.jobs.model.dispatcher import Dispatcher
from provider.jobs.model.due import may_settle
from provider.jobs.model.job import LEASE, Job
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.run.messages import End, Failed, FailureClass, Succeeded
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.services import Service
from provider.settings import Settings

log = structlog.get_logger()

OUTPUT_STORED = "output_stored"
SUCCEEDED = "job_succeeded"
FAILED = "job_failed"
RETRIED = "job_retried"
INTERRUPTED = "job_interrupted"
HANDED_BACK = "job_handed_back"
CANCELLED = "job_cancelled"
HANDLER_FAILED = "handler_failed"
DROPPED = "result_dropped"

BACKOFF_SECONDS = 2.0
"""First ceiling of the wait before a transient failure is tried again; doubles each time (R6)."""
MOST_BACKOFF_SECONDS = 300.0


class Outcomes:
    """Each method is one move; it returns whether it was made, False meaning that the job changed before.

    A running job whose cancel was asked for ends as cancelled, whatever was to become of it (R7).
    """

    def __init__(self, store: JobStore, dispatcher: Dispatcher, settings: Settings) -> None:
        self._store = store
        self._lanes = Lanes(store)
        self._dispatcher = dispatcher
        self._settings = settings

    def record(
        self, service: Service, job: Job, end: End | Succeeded | Failed, progress: Mapping[str, Any]
    ) -> bool:
        """Make the move; False when the job changed since it was read."""
        match end:
            case Succeeded(output):
                return self.output(job, output, progress)
            case Failed(kind, detail):
                log.error(HANDLER_FAILED, job_id=job.id, kind=kind.value, detail=detail)
                return self._fail(service, job, kind, progress)
            case End.TIMED_OUT:
                return self.fail(job, ErrorCode.TIMEOUT, progress)
            case End.DIED | End.STALLED:
                return self.interrupted(job, service, progress)
            case End.CANCELLED:
                return self.cancel(job, progress)
            case End.LOST:  # The present lease holder decides, without one the sweep.
                log.warning(DROPPED, job_id=job.id)
                return True

    def _fail(self, service: Service, job: Job, kind: FailureClass, progress: Mapping[str, Any]) -> bool:
        if kind is FailureClass.TRANSIENT:
            return self.retry(job, service, progress)
        is_output = kind is FailureClass.OUTPUT_INVALID
        code = ErrorCode.OUTPUT_INVALID if is_output else ErrorCode.SERVICE_FAILED
        return self.fail(job, code, progress)

    def output(self, job: Job, output: str, progress: Mapping[str, Any]) -> bool:
        """Keep a valid output: the end of the job, unless it is withheld until it is paid (§3)."""
        if job.cancel:
            return self.cancel(job, progress)
        fields = {"output": output, **_progress(progress)}
        if not job.charge.withholds_output:
            return self._end(job, Status.SUCCEEDED, fields, SUCCEEDED)
        look = self._settings.sweep_seconds
        moved = self._store.move(job, Status.RUNNING, fields, drop=LEASE, owner=job.owner, look=look)
        if moved:
            log.info(OUTPUT_STORED, job_id=job.id)
            self._dispatcher.settle(job.id)
        return bool(moved)

    def fail(self, job: Job, code: ErrorCode, progress: Mapping[str, Any] | None = None) -> bool:
        """End a job without output, also one that waited too long; on-success charges nothing (S1)."""
        if job.cancel:
            return self.cancel(job, progress)
        fields = {"error": code.value, **_progress(progress)}
        return self._end(job, Status.FAILED, fields, FAILED, code=code.value)

    def cancel(self, job: Job, progress: Mapping[str, Any] | None = None) -> bool:
        """End a job that does not settle, because its buyer or the operator wants it to (R7)."""
        fields = {"error": ErrorCode.CANCELLED.value, **_progress(progress)}
        return self._end(job, Status.CANCELLED, fields, CANCELLED)

    def retry(self, job: Job, service: Service, progress: Mapping[str, Any] | None = None) -> bool:
        """Try again after a transient failure, later, while retries and time are left (R6).

        The sweep starts it, at the first of its runs after the wait; where that could be too late for the
        work to end in time, the job goes back into its lane at once.
        """
        if job.retries >= service.max_retries:
            return self.fail(job, ErrorCode.SERVICE_FAILED, progress)
        room = self._room_seconds(job, service)
        if room <= 0:
            return self.fail(job, ErrorCode.TIMEOUT, progress)
        fields = {"retries": job.retries + 1, **_progress(progress)}
        delay = backoff_seconds(job.retries)
        if delay + self._settings.sweep_seconds > room:
            return self._requeue(job, fields, RETRIED, enter="lane", look="deadline")
        fields["not_before_ms"] = self._store.now_ms(job.service) + int(delay * 1000)
        return self._requeue(job, fields, RETRIED, enter="", look=delay)

    def interrupted(
        self, job: Job, service: Service | None, progress: Mapping[str, Any] | None = None
    ) -> bool:
        """Queue a job again whose worker or handler process died, while starts are left (R6, S3)."""
        most = (service and service.max_attempts) or self._settings.max_attempts
        if job.interruptions + 1 >= most:
            return self.fail(job, ErrorCode.SERVICE_FAILED, progress)
        fields = {"interruptions": job.interruptions + 1, **_progress(progress)}
        return self._requeue(job, fields, INTERRUPTED, enter="lane", look="deadline")

    def hand_back(self, job: Job) -> bool:
        """Give a job back to its lane at a planned stop; the start does not count (C8)."""
        return self._requeue(job, {"starts": job.starts - 1}, HANDED_BACK, enter="lane", look="deadline")

    def wake(self, job: Job) -> None:
        """Send what a job waits for once more: with the reply to a move its wake-up is lost, too."""
        if may_settle(job):
            self._dispatcher.settle(job.id)
        elif job.status is Status.QUEUED:
            self._dispatcher.handle(job.id)

    def _room_seconds(self, job: Job, service: Service) -> float:
        """Return how long another try may wait; 0 or less when it would not end in time (S2).

        It is taken to last as long as others do, unless it goes on from a checkpoint.
        """
        if job.deadline_ms is None:
            return float("inf")
        needed = 0.0 if self._store.has_work(job.id) else self._lanes.expected_seconds(service)
        return (job.deadline_ms - self._store.now_ms(job.service)) / 1000 - needed

    def _requeue(self, job: Job, fields: dict[str, Any], event: str, *, enter: str, look: Any) -> bool:
        if job.cancel:
            return self.cancel(job)
        moved = self._store.move(
            job, Status.QUEUED, fields, drop=LEASE, owner=job.owner, enter=enter, look=look
        )
        if moved:
            log.info(event, job_id=job.id, starts=job.starts)
            if enter == "lane":
                self._dispatcher.handle(job.id)
        return bool(moved)

    def _end(self, job: Job, target: Status, fields: dict[str, Any], event: str, **about: Any) -> bool:
        drop = () if target is Status.SUCCEEDED else ("output",)
        moved = self._store.move(job, target, fields, drop=drop, owner=job.owner)
        if moved:
            log.info(event, job_id=job.id, **about)
        return bool(moved)


def name_of(end: End | Succeeded | Failed) -> str:
    """Name an end for people."""
    match end:
        case Succeeded():
            return "succeeded"
        case Failed():
            return "failed"
        case _:
            return end.value


def backoff_seconds(retries: int) -> float:
    """Draw the wait before another try: exponential, with full jitter (R6)."""
    return random.uniform(0, min(MOST_BACKOFF_SECONDS, BACKOFF_SECONDS * 2 ** min(retries, 30)))


def _progress(progress: Mapping[str, Any] | None) -> dict[str, str]:
    return {"progress": strict_json.dumps(progress)} if progress else {}
