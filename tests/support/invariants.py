"""The invariants of standard §16, checked together after every fault."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from provider.jobs.model.job import Job
from provider.jobs.model.job_id import service_of
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.jobs.store.jobs import JobStore
from provider.services import Registry
from provider.settings import Settings

MAX_ATTEMPTS = Settings().max_attempts
PAID_UPFRONT = (Status.QUEUED, Status.RUNNING, Status.FAILED, Status.CANCELLED)


@dataclass(frozen=True)
class Run:
    """A start of a handler, as it noted it down itself."""

    job_id: str
    beside: int
    """Handlers of the lane that ran at that moment, itself included."""


@dataclass
class Evidence:
    """What the checks compare: records, chain, and what was seen in between."""

    store: JobStore
    registry: Registry
    pay_to: str
    transfers: Iterable[Any]
    """Transfers of the token, each with `recipient` and `nonce`."""
    latest_ledger: int
    runs: list[Run] = field(default_factory=list)
    read_unpaid: list[str] = field(default_factory=list)
    """Jobs whose output could be read while the chain had no payment for them."""

    def jobs(self) -> list[Job]:
        """Read every job of every service."""
        client: Any = self.store.client
        ids = [i for name in self.store.service_names() for i in client.zrange(keys.index(name), 0, -1)]
        return [self.store.get(job_id) for job_id in ids]

    def charges(self) -> Mapping[int, int]:
        """Count the payments to us on chain, by nonce."""
        return Counter(item.nonce for item in self.transfers if item.recipient == self.pay_to)

    def claims(self) -> list[str]:
        """Name the job of each claim key whose job was not deleted since."""
        client: Any = self.store.client
        found = [client.hgetall(key) for key in client.scan_iter(match="provider:{claim:*")]
        return [claim["job"] for claim in found if "gone" not in claim]


def check_invariants(evidence: Evidence, *, settled: bool = True) -> None:
    """Assert I1 to I9. With `settled=False` jobs may still be open, so that I6 and I7 are left out."""
    jobs, charges = evidence.jobs(), evidence.charges()
    for job in jobs:
        _check_money(job, charges.get(job.terms.nonce, 0))
    _check_that_every_payment_has_a_job(jobs, charges)
    assert evidence.read_unpaid == [], "I5: an output was readable before its payment was on chain"
    _check_starts(evidence, jobs)
    if settled:
        _check_ends(evidence, jobs)


def _check_money(job: Job, charges: int) -> None:
    about = f"{job.id}: {job.status}, charged {job.charged}, {charges} on chain"
    assert charges <= 1, f"I1: charged more than once: {about}"
    if job.status is Status.SUCCEEDED:
        assert charges == 1, f"I2: succeeded without a payment: {about}"
    if job.is_final and not job.charged:
        assert charges == 0, f"I3: reported uncharged, but it was: {about}"


def _check_that_every_payment_has_a_job(jobs: list[Job], charges: Mapping[int, int]) -> None:
    owners = {job.terms.nonce: job for job in jobs}
    for nonce in charges:
        assert nonce in owners, f"I4: a payment to us without a job: nonce {nonce}"
        assert _may_be_paid(owners[nonce]), (
            f"I4: {owners[nonce].id} is {owners[nonce].status}, but it was paid"
        )


def _may_be_paid(job: Job) -> bool:
    if job.status in (Status.SUCCEEDED, Status.PAYMENT_UNCERTAIN) or job.is_settling:
        return True
    return job.charge.pays_first and job.charged and job.status in PAID_UPFRONT


def _check_starts(evidence: Evidence, jobs: list[Job]) -> None:
    starts = Counter(run.job_id for run in evidence.runs)
    for run in evidence.runs:
        concurrency = evidence.registry.get(service_of(run.job_id)).concurrency
        assert run.beside <= concurrency, f"I8: {run.beside} handlers at once beside {run.job_id}"
    for job in jobs:
        service = evidence.registry.get(job.service)
        most = (service.max_attempts or MAX_ATTEMPTS) + service.max_retries
        assert starts[job.id] <= most, f"I9: {job.id} was started {starts[job.id]} times"


def _check_ends(evidence: Evidence, jobs: list[Job]) -> None:
    by_id = {job.id: job for job in jobs}
    for job in jobs:
        told = job.status is not Status.PAYMENT_UNCERTAIN
        assert told or evidence.latest_ledger <= job.terms.expiration_ledger, f"I6: {job.id} is uncertain"
    for job_id in evidence.claims():
        assert job_id in by_id, f"I7: a claim without its job: {job_id}"
        assert by_id[job_id].is_final, f"I7: {job_id} is {by_id[job_id].status}"
