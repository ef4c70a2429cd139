"""All configured RPCs in one run: the first decides, the others must agree to "not paid" (standard §10)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from provider.chain.rpc import StellarRpc
from provider.chain.scan import MOST_PAGES, MOST_PAGES_A_JOB, Pages
from provider.chain.witness import Witness
from provider.jobs.model.job import Job
from provider.jobs.reconcile.decide import Decision, Verdict
from provider.jobs.reconcile.inquiry import Inquiry, undecided
from provider.networks import PASSPHRASES
from provider.settings import Settings


class Quorum:
    """Decides jobs. Each run needs a new instance; with `all_pages` its scans have no limit."""

    def __init__(self, rpcs: Sequence[StellarRpc], settings: Settings, *, all_pages: bool = False) -> None:
        most = (math.inf, math.inf) if all_pages else (MOST_PAGES, MOST_PAGES_A_JOB)
        self._network = settings.network
        self._inquiries = [
            Inquiry(Witness(rpc, PASSPHRASES[settings.network]), settings.ledger_seconds, Pages(*most))
            for rpc in rpcs
        ]

    @property
    def calls(self) -> int:
        """Count the RPC calls made so far."""
        return sum(inquiry.witness.calls for inquiry in self._inquiries)

    def decide(self, jobs: Sequence[Job], *, audited: bool = False) -> list[Decision]:
        """Decide jobs, in their order."""
        ours = [job for job in jobs if job.terms.network == self._network]
        first, *others = self._inquiries
        decisions = {found.job_id: found for found in first.decide(ours, audited=audited)}
        for other in others:
            unpaid = [job for job in ours if decisions[job.id].verdict is Verdict.UNPAID]
            for found in other.decide(unpaid):
                decisions[found.job_id] = _agreed(decisions[found.job_id], found, other.witness.rpc.url)
        return [decisions.get(job.id) or _elsewhere(job) for job in jobs]


def _agreed(first: Decision, second: Decision, url: str) -> Decision:
    if second.verdict is Verdict.UNPAID:
        return first
    reason = f"not paid by the first RPC, but {url} does not agree: {second.reason}"
    return replace(first, verdict=Verdict.UNDECIDED, reason=reason, later=second.later)


def _elsewhere(job: Job) -> Decision:
    return undecided(job, f"the payment is on {job.terms.network}, which is not configured")
