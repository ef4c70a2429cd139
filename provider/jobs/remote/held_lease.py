"""A remote worker's hold on a job, with the clocks that a supervisor keeps for a local one (R1, R2, R4)."""

from dataclasses import dataclass
from functools import cached_property

from provider.jobs.model.job import Job
from provider.jobs.remote.progress_throttle import Progress, TimedProgress
from provider.jobs.run.messages import End
from provider.services import Service
from provider.services.progress import PROGRESS_SECONDS

OVERTIME_SECONDS = 5.0
"""No lease ends later than this after the budget: then the slot is free (R2)."""


@dataclass(frozen=True, slots=True)
class LeaseAnswer:
    """What became of a call about a job."""

    accepted: bool
    reason: str | None = None
    """Why not: `lost`, `timed_out`, `stalled`, `cancelled` or `output_invalid`."""
    detail: str | None = None
    cancel: bool = False
    """The worker must stop its program and report a failure; the lease is not prolonged any more (R7)."""
    lease_seconds: float | None = None
    budget_seconds: float | None = None

    @classmethod
    def lost(cls) -> "LeaseAnswer":
        """Answer a worker that lost its lease."""
        return cls(False, End.LOST)


@dataclass(frozen=True)
class HeldLease:
    """A job as its holder's call found it. Times are Redis' clock."""

    service: Service
    job: Job
    now_ms: int

    @cached_property
    def seconds(self) -> float:
        """How long this attempt has taken."""
        return self._since(self.job.leased_at_ms)

    @cached_property
    def budget_seconds(self) -> float:
        """What is left of the time that the work may take."""
        return -self._since(self.job.work_until_ms)

    @property
    def overdue(self) -> End | None:
        """Why the hold must end now, if it must."""
        if self.budget_seconds <= 0:
            return End.TIMED_OUT
        still = self._since(self.job.moved_at_ms or self.job.leased_at_ms)
        stall_seconds = self.service.stall_seconds
        return End.STALLED if stall_seconds is not None and still >= stall_seconds else None

    @property
    def seconds_until_progress(self) -> float:
        """How long progress has to wait until it may be written again (R4)."""
        if self.job.moved_at_ms is None:
            return 0.0
        return PROGRESS_SECONDS - self._since(self.job.moved_at_ms)

    def latest(self, kept: TimedProgress | None) -> Progress:
        """Return the latest progress: what was kept back here, or what is stored."""
        if kept is None or kept.at_ms < (self.job.reported_at_ms or 0):
            return self.job.progress
        return kept.progress

    def next_lease_seconds(self, usual: float) -> float:
        """How long a lease lasts that is prolonged now."""
        return min(usual, self.budget_seconds + OVERTIME_SECONDS)

    def as_it_is(self) -> LeaseAnswer:
        """Answer without having prolonged the lease."""
        return self.prolonged(-self._since(self.job.lease_until_ms), cancel=self.job.cancel)

    def prolonged(self, lease_seconds: float, *, cancel: bool) -> LeaseAnswer:
        """Answer that the work may go on."""
        seconds = self.next_lease_seconds(lease_seconds)
        return LeaseAnswer(True, cancel=cancel, lease_seconds=seconds, budget_seconds=self.budget_seconds)

    def _since(self, at_ms: int | None) -> float:
        return (self.now_ms - (at_ms or self.now_ms)) / 1000
