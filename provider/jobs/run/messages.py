"""Messages between a worker and the process of its handlers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from provider.services.checkpoints import DEFAULT_LIMITS, CheckpointLimits
from provider.services.progress import Progress


@dataclass(frozen=True, slots=True)
class Order:
    """One job for the handler process."""

    job_id: str
    service: str
    input: str
    attempt: int
    budget_seconds: float
    completed_units: frozenset[str] = frozenset()
    cursors: Mapping[str, Any] = field(default_factory=dict)
    limits: CheckpointLimits = DEFAULT_LIMITS


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The handler completed a unit, or with a cursor noted where it stands, and waits for `Stored`."""

    unit: str
    cursor: str
    """JSON text; empty when the unit is complete."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A checkpoint is stored, or refused for a reason that is raised in the handler."""

    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The handler returned, and its output fits the schema."""

    output: str
    """JSON text."""


class FailureClass(StrEnum):
    """Classes of failures."""

    TRANSIENT = "transient"
    DETERMINISTIC = "deterministic"
    ERROR = "error"
    OUTPUT_INVALID = "output_invalid"
    """Its output is no JSON, or too large to be sent."""
    INTERRUPTED = "interrupted"
    """No verdict on the job: its program died without a word."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler raised, or returned what is no output. `detail` is for the log only (E2)."""

    kind: FailureClass
    """Any but `interrupted`."""
    detail: str


Message = Progress | Checkpoint | Succeeded | Failed


class End(StrEnum):
    """Ways a watch ends other than with the handler's own message."""

    TIMED_OUT = "timed_out"
    DIED = "died"
    STALLED = "stalled"
    CANCELLED = "cancelled"
    LOST = "lost"
