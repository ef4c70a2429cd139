"""Statuses, the moves between them (standard J4), and why a job ended without output (standard §12).

`docs/states.md` draws the same edges.
"""

from collections.abc import Mapping
from enum import StrEnum


class Status(StrEnum):
    """Where a job stands. The first four are open, the others final."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    PAYMENT_UNCERTAIN = "payment_uncertain"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def code(self) -> int:
        """Code of the status in the index: score = code × 10¹⁴ + createdAt (ms)."""
        return _CODES[self]

    @property
    def scores(self) -> tuple[int, str]:
        """Range of the status in the index, as Redis' commands take it."""
        return self.code * INDEX_STEP, f"({(self.code + 1) * INDEX_STEP}"

    @property
    def is_final(self) -> bool:
        return self in FINAL


_CODES: Mapping[Status, int] = {
    Status.PENDING: 1,
    Status.QUEUED: 2,
    Status.RUNNING: 3,
    Status.PAYMENT_UNCERTAIN: 4,
    Status.SUCCEEDED: 5,
    Status.FAILED: 6,
    Status.CANCELLED: 7,
}
"""Stored in the scores of every index: a new status takes a new number, and none changes."""
INDEX_STEP = 10**14

FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED})

MOVES: Mapping[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.QUEUED, Status.FAILED, Status.PAYMENT_UNCERTAIN}),
    Status.QUEUED: frozenset({Status.RUNNING, Status.FAILED, Status.CANCELLED}),
    Status.RUNNING: frozenset(
        {
            Status.RUNNING,
            Status.QUEUED,
            Status.SUCCEEDED,
            Status.FAILED,
            Status.PAYMENT_UNCERTAIN,
            Status.CANCELLED,
        }
    ),
    Status.PAYMENT_UNCERTAIN: frozenset({Status.QUEUED, Status.SUCCEEDED, Status.FAILED}),
    Status.SUCCEEDED: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELLED: frozenset(),
}


class ErrorCode(StrEnum):
    """Why a job ended without output (standard §12)."""

    TIMEOUT = "timeout"
    SERVICE_FAILED = "service_failed"
    OUTPUT_INVALID = "output_invalid"
    PAYMENT_FAILED = "payment_failed"
    CANCELLED = "cancelled"


MESSAGES: Mapping[ErrorCode, str] = {
    ErrorCode.TIMEOUT: "The work did not end within its time.",
    ErrorCode.SERVICE_FAILED: "The service failed on this input.",
    ErrorCode.OUTPUT_INVALID: "The service gave an output that breaks its own schema, or is too large.",
    ErrorCode.PAYMENT_FAILED: "The payment did not go through.",
    ErrorCode.CANCELLED: "The job was cancelled.",
}
RETRYABLE = frozenset({ErrorCode.TIMEOUT, ErrorCode.PAYMENT_FAILED})
