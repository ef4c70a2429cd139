"""What remote workers tell of their failures, judged as a handler's own would be (R6)."""

from collections.abc import Mapping
from enum import StrEnum

from provider.errors import DeterministicError, HandlerError, TransientError
from provider.jobs.run.classify import judge_error
from provider.jobs.run.messages import Failed
from provider.jobs.run.supervisor import End
from provider.services import Service


class Failure(StrEnum):
    """Classes of failures."""

    TRANSIENT = "transient"
    DETERMINISTIC = "deterministic"
    ERROR = "error"
    OUTPUT_INVALID = "output_invalid"
    """Its output is no JSON, or too large to be sent."""
    INTERRUPTED = "interrupted"
    """No verdict on the job: its program died without a word."""


RAISED: Mapping[Failure, type[HandlerError]] = {
    Failure.TRANSIENT: TransientError,
    Failure.DETERMINISTIC: DeterministicError,
    Failure.ERROR: HandlerError,
}
"""What a handler here would raise to fail in the same class."""


def judge_failure(service: Service, kind: Failure, message: str) -> End | Failed:
    """Give the end that a failure is. `message` is for the log only (E2)."""
    if kind is Failure.INTERRUPTED:
        return End.DIED
    if kind is Failure.OUTPUT_INVALID:
        return Failed(kind.value, message)
    return judge_error(service, RAISED[kind](), message)
