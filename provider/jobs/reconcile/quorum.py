"""All configured RPCs in one run: the first decides, each other one must agree to "not paid" (§10)."""

from collections.abc import Sequence
from dataclasses import replace

from provider.chain.rpc import StellarRpc
from provider.chain.witness import Witness
from provider.jobs.model.job import Job
from provider.jobs.reconcile.decide import Case, Judge, undecided
from provider.jobs.reconcile.evidence import Decision, Verdict
from provider.networks import PASSPHRASES
from provider.settings import Settings


class Panel:
    """Decides jobs; needs a new instance for each run, since it remembers what it was told."""

    def __init__(self, rpcs: Sequence[StellarRpc], settings: Settings) -> None:
        self._network = settings.network
        self._judges = [
            Judge(Witness(rpc, PASSPHRASES[settings.network]), settings.ledger_seconds) for rpc in rpcs
        ]

    @property
    def calls(self) -> int:
        """Count the RPC calls made so far."""
        return sum(judge.witness.calls for judge in self._judges)

    def cases(self, jobs: Sequence[Job]) -> list[Case]:
        """Read what the first RPC says about the nonces of jobs; those it says nothing about are left out."""
        return self._judges[0].cases([job for job in jobs if job.terms.network == self._network])[0]

    def decide(self, jobs: Sequence[Job]) -> list[Decision]:
        """Decide jobs, in their order."""
        ours = [job for job in jobs if job.terms.network == self._network]
        decisions = dict(zip([job.id for job in ours], self._judges[0].decide(ours), strict=True))
        for judge in self._judges[1:]:
            unpaid = [job for job in ours if decisions[job.id].verdict is Verdict.UNPAID]
            for first, second in zip(unpaid, judge.decide(unpaid), strict=True):
                decisions[first.id] = _agreed(decisions[first.id], second, judge.witness.rpc.url)
        return [decisions.get(job.id) or _elsewhere(job) for job in jobs]


def _agreed(first: Decision, second: Decision, url: str) -> Decision:
    if second.verdict is Verdict.UNPAID:
        return first
    reason = f"not paid by the first RPC, but {url} does not agree: {second.reason}"
    return replace(first, verdict=Verdict.UNDECIDED, reason=reason)


def _elsewhere(job: Job) -> Decision:
    return undecided(job, f"the payment is on {job.terms.network}, which is not configured")
