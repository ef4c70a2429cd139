"""What a worker and the process of its handlers tell each other."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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


@dataclass(frozen=True, slots=True)
class Progress:
    """The handler told how far it is."""

    done: float
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The handler completed a unit, or with a cursor noted where it stands."""

    unit: str
    cursor: str | None
    """JSON text; None when the unit is complete."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The handler returned, and its output fits the schema."""

    output: str
    """JSON text."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler raised, or returned what is no output. `detail` is for the log only (E2)."""

    kind: str
    """`transient`, `deterministic`, `error` or `output_invalid`."""
    detail: str


Message = Progress | Checkpoint | Succeeded | Failed
