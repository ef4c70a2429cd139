"""What a payer may have open before it pays, and what it left unpaid (standard S5)."""

from dataclasses import dataclass

import structlog

from provider.errors import StoreError
from provider.jobs.model.job import Job
from provider.jobs.store import keys, metrics
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.metrics import Figures, counted
from provider.settings import Settings

log = structlog.get_logger()

UNPAID_ENDING = "work_not_paid"


@dataclass(frozen=True, slots=True)
class Admission:
    """The payer of a call that is paid after its work, and how much it may have open and unpaid."""

    payer: str
    most_open: int
    most_unpaid: int
    expires_seconds: float
    """Time until the payment has surely expired: for so long at most the job counts as open."""


class Payers:
    """Remembers payers per service, for a while."""

    def __init__(self, store: JobStore, settings: Settings) -> None:
        self._store = store
        self._seconds = settings.payer_unpaid_seconds
        self._figures = Figures(store)

    def left_unpaid(self, job: Job, how: str) -> None:
        """Count work that was done under on-success and not paid for; lost while Redis is away."""
        if not job.charge.withholds_output or not job.starts:
            return
        log.warning(UNPAID_ENDING, job_id=job.id, payer=job.terms.payer, how=how)
        try:
            key = keys.unpaid(job.service, job.terms.payer)
            self._store.scripts("unpaid", [key], [int(self._seconds * 1000)])
        except StoreError:
            return
        self._figures.add(counted(metrics.UNPAID_ENDINGS, job.service, how))
