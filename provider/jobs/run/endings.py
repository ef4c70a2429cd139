"""The one move that the end of a handler asks for, wherever it ran (R2, R6, R7)."""

from collections.abc import Mapping
from typing import Any

import structlog

from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode
from provider.jobs.run.messages import End, Failed, Succeeded
from provider.jobs.run.transitions import Outcomes
from provider.services import Service

log = structlog.get_logger()

HANDLER_FAILED = "handler_failed"
DROPPED = "result_dropped"


class Endings:
    """Records how handlers ended."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes

    def record(
        self, service: Service, job: Job, end: End | Succeeded | Failed, progress: Mapping[str, Any]
    ) -> bool:
        """Make the move; False when the job changed since it was read."""
        match end:
            case Succeeded(output):
                return self._outcomes.output(job, output, progress)
            case Failed(kind, detail):
                log.error(HANDLER_FAILED, job_id=job.id, kind=kind, detail=detail)
                return self._fail(service, job, kind, progress)
            case End.TIMED_OUT:
                return self._outcomes.fail(job, ErrorCode.TIMEOUT, progress)
            case End.DIED | End.STALLED:
                return self._outcomes.interrupted(job, service, progress)
            case End.CANCELLED:
                return self._outcomes.cancel(job, progress)
            case End.LOST:  # Whoever has the lease now decides; the sweep does if nobody has.
                log.warning(DROPPED, job_id=job.id)
                return True

    def _fail(self, service: Service, job: Job, kind: str, progress: Mapping[str, Any]) -> bool:
        if kind == "transient":
            return self._outcomes.retry(job, service, progress)
        code = ErrorCode.OUTPUT_INVALID if kind == "output_invalid" else ErrorCode.SERVICE_FAILED
        return self._outcomes.fail(job, code, progress)


def name_of(end: End | Succeeded | Failed) -> str:
    """Name an end for people."""
    match end:
        case Succeeded():
            return "succeeded"
        case Failed():
            return "failed"
        case _:
            return end.value
