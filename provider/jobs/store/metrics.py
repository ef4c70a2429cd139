"""What processes measured, kept where every web process can show it (standard §14).

A worker has no port to be scraped at, and its counters would die with it. So it adds what it measured to one
hash in Redis, in one trip after the step that was measured. A figure is never worth a job: one that Redis
does not take is lost. A field is a family with its labels, and for a histogram the bucket or `sum` (in µs):
`rpc_seconds|getHealth|0.25`.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from provider.errors import StoreError
from provider.jobs.store import keys
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.jobs import JobStore

log = structlog.get_logger()

NOT_WRITTEN = "figures_not_written"
IDLE_SECONDS = 60.0
"""Gathered figures are written this often."""

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric and its labels."""

    name: str
    about: str
    labels: Labels = ()

    def field(self, *labels: object) -> str:
        return "|".join([self.name, *map(str, labels)])


@dataclass(frozen=True, slots=True)
class Count(Family):
    """How often something happened."""


@dataclass(frozen=True, slots=True)
class Stamp(Family):
    """When something happened last."""


@dataclass(frozen=True, slots=True)
class Timing(Family):
    """A histogram of durations; `buckets` are upper bounds in seconds."""

    buckets: tuple[float, ...] = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


@dataclass(frozen=True, slots=True)
class Durations:
    """A histogram as it was read: how many took up to so many seconds, the last bound is infinite."""

    buckets: tuple[tuple[float, int], ...]
    seconds: float


SETTLEMENTS = Count("settlements", "Settlement attempts, by how they ended.", ("service", "outcome"))
SETTLE_SECONDS = Timing("facilitator_settle_seconds", "Time of the facilitator's /settle.")
UNPAID_ENDINGS = Count(
    "unpaid_endings", "Jobs whose work was done and not paid for, by how they ended.", ("service", "how")
)
HANDLER_SECONDS = Timing(
    "handler_seconds",
    "Time a handler ran, by how that ended.",
    ("service", "end"),
    (0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200),
)
RPC_SECONDS = Timing("rpc_seconds", "Time of a call of the Stellar RPC.", ("method",))
SWEPT_AT = Stamp("sweep_last_run_timestamp_seconds", "When the last sweep ended.")
SWEEP_SECONDS = Timing("sweep_seconds", "Time of a sweep.")
SWEEP_ACTIONS = Count("sweep_actions", "What sweeps did to jobs that were due.", ("action",))
RECONCILED_AT = Stamp("reconcile_last_run_timestamp_seconds", "When the last reconcile run ended.")
RECONCILE_SECONDS = Timing("reconcile_seconds", "Time of a reconcile run.")
DECISIONS = Count("reconcile_decisions", "Payments decided from the chain.", ("verdict",))
CONTRADICTIONS = Count("contradictions", "Finished jobs whose record the chain contradicts.")

FAMILIES: tuple[Family, ...] = (
    *(SETTLEMENTS, SETTLE_SECONDS, UNPAID_ENDINGS, HANDLER_SECONDS, RPC_SECONDS),
    *(SWEPT_AT, SWEEP_SECONDS, SWEEP_ACTIONS),
    *(RECONCILED_AT, RECONCILE_SECONDS, DECISIONS, CONTRADICTIONS),
)


class Figures:
    """Adds up what was measured, over all processes. Only `read` raises StoreUnavailable."""

    def __init__(self, store: JobStore) -> None:
        self._client = store.client

    def add(self, amounts: Mapping[str, int], *, stamp: Stamp | None = None) -> None:
        """Add several amounts at once, and note that it is now."""
        try:
            with reaching_redis():
                pipe = node_of(self._client, keys.FIGURES).pipeline(transaction=False)
                for field, amount in amounts.items():
                    pipe.hincrby(keys.FIGURES, field, amount)
                if stamp:
                    pipe.hset(keys.FIGURES, stamp.field(), int(time.time()))
                pipe.execute()
        except StoreError:
            log.info(NOT_WRITTEN)

    def rpc_called(self, method: str, seconds: float) -> None:
        """Note how long a call took: the observer of a `StellarRpc`."""
        self.add(timed(RPC_SECONDS, seconds, method))

    def read(self) -> dict[Family, dict[Labels, Any]]:
        """Read all: an int for each labels of a count or a stamp, Durations for those of a timing."""
        with reaching_redis():
            stored: dict[str, str] = self._client.hgetall(keys.FIGURES)  # type: ignore[assignment]
        by_name: defaultdict[str, dict[Labels, int]] = defaultdict(dict)
        for field, amount in stored.items():
            name, *labels = field.split("|")
            by_name[name][tuple(labels)] = int(amount)
        return {family: _values(family, by_name[family.name]) for family in FAMILIES}


class Unhurried:
    """Gathers figures, and writes them with the next move, or after a while.

    A write costs a sync of Redis' file, for which something that found nothing to do need not wait each time.
    """

    def __init__(self, figures: Figures, stamp: Stamp, *, seconds: float = IDLE_SECONDS) -> None:
        self._figures = figures
        self._stamp = stamp
        self._seconds = seconds
        self._lock = threading.Lock()
        self._gathered: Counter[str] = Counter()
        self._due_at = float("-inf")

    def add(self, amounts: Mapping[str, int], *, matters: bool) -> None:
        """Gather amounts, and write all that was gathered if it matters or is time."""
        with self._lock:
            self._gathered.update(amounts)
            now = time.monotonic()
            if not matters and now < self._due_at:
                return
            gathered, self._gathered, self._due_at = self._gathered, Counter(), now + self._seconds
        self._figures.add(gathered, stamp=self._stamp)


def counted(family: Count, *labels: str, by: int = 1) -> dict[str, int]:
    """Give what an event adds to a count."""
    return {family.field(*labels): by}


def timed(family: Timing, seconds: float, *labels: str) -> dict[str, int]:
    """Give what a duration adds to a histogram."""
    bound = next((bound for bound in family.buckets if seconds <= bound), "inf")
    return {family.field(*labels, bound): 1, family.field(*labels, "sum"): round(seconds * 10**6)}


def _values(family: Family, stored: Mapping[Labels, int]) -> dict[Labels, Any]:
    if not isinstance(family, Timing):
        return dict(stored)
    return {labels: _durations(family, labels, stored) for labels in {labels[:-1] for labels in stored}}


def _durations(family: Timing, labels: Labels, stored: Mapping[Labels, int]) -> Durations:
    """Add up the buckets, each of which is stored for itself."""
    total, buckets = 0, []
    for bound in (*family.buckets, float("inf")):
        total += stored.get((*labels, str(bound)), 0)
        buckets.append((bound, total))
    return Durations(tuple(buckets), stored.get((*labels, "sum"), 0) / 10**6)
