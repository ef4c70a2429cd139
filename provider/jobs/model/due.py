"""When a job is late for something, as the sweep's rules read it from the record (§9)."""

from dataclasses import dataclass

from provider.jobs.model.job import Job, Terms
from provider.jobs.model.status import Status


@dataclass(frozen=True, slots=True)
class Now:
    """The time of one look: Redis' clock, and the latest ledger if the ledger clock answers."""

    ms: int
    latest_ledger: int | None

    def is_expired(self, job: Job) -> bool:
        """The payment can surely not land any more (by the chain), or by wall clock should not."""
        past = self.latest_ledger is not None and self.latest_ledger > job.terms.expiration_ledger
        return past or self.ms >= job.expires_at_ms

    def is_payable(self, job: Job) -> bool:
        """The chain would still take the payment."""
        return self.latest_ledger is not None and self.latest_ledger <= job.terms.expiration_ledger


def is_too_late(job: Job, now: Now) -> bool:
    """Not settled, not settling, and the payment has expired, or will before the work can end."""
    if job.status is Status.PENDING:
        return not job.is_settling and now.is_expired(job)
    if not job.charge.withholds_output or job.is_settling:
        return False
    late = job.status is Status.QUEUED and job.deadline_ms is not None and now.ms >= job.deadline_ms
    return late or (job.status in (Status.QUEUED, Status.RUNNING) and now.is_expired(job))


AUDIT_SECONDS = 600.0
"""Time after the expiration of a payment in which its claim is audited (§10, 7)."""


def kept_seconds(terms: Terms, *, charged: bool, retention_seconds: float, uncharged_seconds: float) -> float:
    """Return how long after its end a job is kept (J15); uncharged ones at least until they were audited."""
    if charged:
        return retention_seconds
    return min(retention_seconds, max(uncharged_seconds, terms.max_timeout_seconds + AUDIT_SECONDS))


def has_lost_its_worker(job: Job, now: Now) -> bool:
    """Its lease is over."""
    return job.status is Status.RUNNING and job.owner is not None and now.ms >= (job.lease_until_ms or 0)


def is_delayed(job: Job, now: Now) -> bool:
    """Its wait for the next try is over (R6)."""
    return job.status is Status.QUEUED and job.not_before_ms is not None and now.ms >= job.not_before_ms


def may_settle(job: Job) -> bool:
    """Return whether a job waits for its one settlement: paid before the work, or after stored output."""
    if job.settling_since_ms is not None:
        return False
    if job.status is Status.PENDING:
        return True
    return job.status is Status.RUNNING and job.output is not None
