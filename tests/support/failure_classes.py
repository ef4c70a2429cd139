"""What becomes of a job that fails, by class of failure: one table for local and for remote workers (R6).

A job of the service below fails once or twice, the same way, and then would succeed; one retry and one
interruption are allowed. `Moment` says how near the deadline is, which an upfront job does not have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any

from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from provider.services import ChargePolicy

EXPECTED_SECONDS = 10
LIMITS: Mapping[str, Any] = {
    "expected_seconds": EXPECTED_SECONDS,
    "timeout_seconds": 30,
    "max_timeout_seconds": 300,
    "max_retries": 1,
    "max_attempts": 2,
    "output_schema": {"type": "object", "required": ["done"]},
}
"""What the service of these jobs must declare, besides what its failures need."""


class Failure(StrEnum):
    """Two failures of each class."""

    RAISED_TRANSIENT = "raised transient"
    DECLARED_TRANSIENT = "declared transient"
    RAISED_DETERMINISTIC = "raised deterministic"
    INVALID_OUTPUT = "invalid output"
    UNDECLARED = "undeclared"
    EXITED = "exited"
    DIED = "died"
    STALLED = "stalled"


class Moment(StrEnum):
    """What time is left before the deadline, where there is one."""

    PLENTY = "plenty of time"
    LITTLE = "less time than another try takes"
    NONE = "time runs out before another try"


@dataclass(frozen=True)
class Case:
    """A job that fails so often, and how it ends."""

    failure: Failure
    charge: ChargePolicy
    moment: Moment
    times: int
    error: ErrorCode | None
    starts: int

    def __str__(self) -> str:
        return f"{self.failure} x{self.times}, {self.charge}, {self.moment}"

    def seconds_to_pass(self, job: Job) -> float:
        """Tell for how long a claimed job has to lie before its moment has come."""
        if job.deadline_ms is None or self.moment is Moment.PLENTY:
            return 0
        left = EXPECTED_SECONDS / 2 if self.moment is Moment.LITTLE else 0
        return (job.deadline_ms - job.created_at_ms) / 1000 - left

    def check(self, job: Job) -> None:
        """Assert that a job ended as it must."""
        ended = Status.SUCCEEDED if self.error is None else Status.FAILED
        assert (job.status, job.error, job.starts) == (ended, self.error, self.starts)
        assert job.charged is (self.error is None or self.charge is ChargePolicy.UPFRONT)


Ends = tuple[ErrorCode | None, int]
"""The error code, None for success; the number of starts."""
AGAIN: tuple[Ends, Ends] = ((None, 2), (ErrorCode.SERVICE_FAILED, 2))
"""One failure is made good, the second is one too many."""
LATE: tuple[Ends, Ends] = ((ErrorCode.TIMEOUT, 1),) * 2
FAILS: tuple[Ends, Ends] = ((ErrorCode.SERVICE_FAILED, 1),) * 2
INVALID: tuple[Ends, Ends] = ((ErrorCode.OUTPUT_INVALID, 1),) * 2

ON_SUCCESS: Mapping[Failure, tuple[tuple[Ends, Ends], ...]] = {
    # Ends after one and two failures, with plenty of time, with little, with none.
    Failure.RAISED_TRANSIENT: (AGAIN, LATE, LATE),
    Failure.DECLARED_TRANSIENT: (AGAIN, LATE, LATE),
    Failure.RAISED_DETERMINISTIC: (FAILS, FAILS, FAILS),
    Failure.INVALID_OUTPUT: (INVALID, INVALID, INVALID),
    Failure.UNDECLARED: (FAILS, FAILS, FAILS),
    Failure.EXITED: (FAILS, FAILS, FAILS),
    # Whoever takes over uses the time that is left: the work may be all but done.
    Failure.DIED: (AGAIN, AGAIN, LATE),
    Failure.STALLED: (AGAIN, AGAIN, LATE),
}


def _cases() -> Iterator[Case]:
    """Expand the table; what is paid upfront ends at any time as it does with plenty."""
    for (failure, rows), charge in product(ON_SUCCESS.items(), ChargePolicy):
        for moment, row in zip(Moment, rows, strict=True):
            ends = row if charge is ChargePolicy.ON_SUCCESS else rows[0]
            for times, (error, starts) in enumerate(ends, start=1):
                yield Case(failure, charge, moment, times, error, starts)


CASES = list(_cases())
