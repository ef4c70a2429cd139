"""Deciding payments by what one RPC says (standard §10; the order is explained in docs/reconciliation.md)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import structlog

from provider.chain.history import scan, search, transfers_at
from provider.chain.onchain import Transfer, Use
from provider.chain.witness import Finding, NonceReading, Witness
from provider.errors import RpcError, RpcUnreachable
from provider.jobs.model.codec import UNREADABLE
from provider.jobs.model.job import Job
from provider.jobs.reconcile.evidence import (
    Decision,
    Stand,
    Verdict,
    first_ledger_of,
    is_legible,
    stand_of,
    transfer_of,
)

log = structlog.get_logger()

HEX_DIGITS = frozenset("0123456789abcdef")

Seen = list[str] | RpcError
"""Transactions that moved the right amount in the right ledger, or why nobody can tell."""
MORE_HISTORY = "use an RPC with more history"


@dataclass(frozen=True, slots=True)
class Case:
    """A job, the transfer it waits for, and what the RPC said about its nonce."""

    job: Job
    wanted: Transfer
    reading: NonceReading
    stand: Stand
    first_ledger: int | None

    @property
    def expiration_ledger(self) -> int:
        return self.job.terms.expiration_ledger

    @property
    def hint(self) -> str:
        """The hash that the facilitator named, if it named one."""
        receipt = self.job.receipt
        text = (receipt.transaction if receipt else self.job.settlement.get("transaction", "")).lower()
        return text if len(text) == 64 and set(text) <= HEX_DIGITS else ""

    def paid(self, transaction: str, ledger: int | None, reason: str) -> Decision:
        return Decision(self.job.id, Verdict.PAID, reason, transaction, ledger)

    def unpaid(self, reason: str) -> Decision:
        return Decision(self.job.id, Verdict.UNPAID, reason)

    def undecided(self, reason: str) -> Decision:
        return undecided(self.job, reason)


def undecided(job: Job, reason: str) -> Decision:
    """Leave a job to the next run."""
    return Decision(job.id, Verdict.UNDECIDED, reason)


class Judge:
    """Decides by one RPC alone; never raises RpcError, a job without an answer is undecided."""

    def __init__(self, witness: Witness, ledger_seconds: float) -> None:
        self.witness = witness
        self._ledger_seconds = ledger_seconds

    def decide(self, jobs: Collection[Job]) -> list[Decision]:
        """Decide jobs, in their order."""
        cases, decisions = self.cases(jobs)
        used = [case for case in cases if case.stand is Stand.USED]
        seen = self._transfers(used)
        for case in cases:
            decisions[case.job.id] = self._guarded(case, seen)
        return [decisions[job.id] for job in jobs]

    def cases(self, jobs: Collection[Job]) -> tuple[list[Case], dict[str, Decision]]:
        """Read the nonces of jobs, in batches; those that could not be read are undecided."""
        wanted = {job.id: transfer_of(job.terms) for job in jobs if is_legible(job.terms)}
        readings = self.witness.nonces(set(wanted.values()))
        cases, decisions = [], {}
        for job in jobs:
            if job.id not in wanted:
                log.error(UNREADABLE, job_id=job.id, detail="its terms name no accounts")
                decisions[job.id] = undecided(job, "its terms cannot be read")
                continue
            reading = readings[wanted[job.id]]
            if isinstance(reading, str):
                decisions[job.id] = undecided(job, f"no answer from the RPC: {reading}")
                continue
            first = self._first_ledger(job)
            stand = stand_of(reading, job.terms.expiration_ledger, first)
            cases.append(Case(job, wanted[job.id], reading, stand, first))
        return cases, decisions

    def _first_ledger(self, job: Job) -> int | None:
        if job.terms.claim_ledger is not None:
            return job.terms.claim_ledger
        try:
            return first_ledger_of(job, self.witness.health(), self._ledger_seconds)
        except RpcError:
            return None

    def _guarded(self, case: Case, seen: Mapping[str, Seen]) -> Decision:
        try:
            return self._decide(case, seen)
        except RpcError as error:
            return case.undecided(f"no answer from the RPC: {error}")

    def _decide(self, case: Case, seen: Mapping[str, Seen]) -> Decision:
        match case.stand:
            case Stand.USED:
                return self._used(case, seen[case.job.id])
            case Stand.UNUSED:
                return case.unpaid(f"the nonce was not used until ledger {case.expiration_ledger}")
            case Stand.GONE:
                return self._gone(case)
        until, now = case.expiration_ledger, case.reading.latest_ledger
        return case.undecided(f"the payment can be made until ledger {until}, the RPC is at {now}")

    # The nonce was used: by what?

    def _transfers(self, cases: Iterable[Case]) -> dict[str, Seen]:
        """List, for each job, the transactions that moved its amount in the ledger that used its nonce."""
        by_ledger: defaultdict[int, list[Case]] = defaultdict(list)
        for case in cases:
            by_ledger[case.reading.used_ledger or 0].append(case)
        seen: dict[str, Seen] = {}
        for ledger, some in by_ledger.items():
            try:
                found = transfers_at(self.witness, ledger, {case.wanted for case in some})
                seen |= {case.job.id: found[case.wanted] for case in some}
            except RpcError as error:
                seen |= dict.fromkeys([case.job.id for case in some], error)
        return seen

    def _used(self, case: Case, seen: Seen) -> Decision:
        """Find the transaction that used the nonce; a history that cannot be read does not block (§10, 3)."""
        hashes = [] if isinstance(seen, RpcError) else sorted(seen, key=lambda found: found != case.hint)
        hint = case.hint
        for found in hashes if hint in hashes or not hint else [*hashes, hint]:
            finding = self.witness.look_at(found, case.wanted)
            if decision := _by_use(case, finding):
                return decision
            if found == hint and finding.complete:
                hint = ""  # It is known, and it is not the one.
        return self._used_unseen(case, hint)

    def _used_unseen(self, case: Case, hint: str) -> Decision:
        """Look at the whole ledger that used the nonce; if that is out of sight, the nonce itself decides."""
        used = case.reading.used_ledger or 0
        try:
            if decision := _by_use(case, scan(self.witness, case.wanted, used)):
                return decision
            return case.undecided(f"ledger {used} used the nonce, but no transaction in it shows how")
        except RpcUnreachable:
            raise
        except RpcError:
            pass
        if case.first_ledger is not None and used < case.first_ledger:
            return case.undecided(f"ledger {used} used the nonce before the claim; {MORE_HISTORY}")
        return case.paid(hint, used, f"the nonce was used in ledger {used}, which is out of sight")

    # The nonce entry is gone, or never was

    def _gone(self, case: Case) -> Decision:
        if case.hint and (decision := _by_use(case, self.witness.look_at(case.hint, case.wanted))):
            return decision
        first, last = case.first_ledger, case.expiration_ledger
        if first is None:
            return case.undecided("nobody knows in which ledger the claim was made")
        finding = search(self.witness, case.wanted, first, last)
        if decision := _by_use(case, finding):
            return decision
        if not finding.complete:
            return case.undecided(
                f"ledgers {first} to {last} are not all in the RPC's history; {MORE_HISTORY}"
            )
        return case.unpaid(f"no transaction of ledgers {first} to {last} used the nonce")


def _by_use(case: Case, finding: Finding) -> Decision | None:
    """Decide by the transaction that used the nonce, if one was found in the time of the payment."""
    ledger = finding.ledger
    if ledger is None or ledger > case.expiration_ledger:
        return None
    if finding.use is Use.PAID:
        return case.paid(finding.transaction, ledger, f"paid in ledger {ledger}")
    if finding.use is Use.NONE:
        return None
    lives_until = max(ledger + case.reading.proof_ledgers, case.reading.live_until_ledger or 0)
    spent = f"the payer used the nonce for another call in ledger {ledger}"
    if lives_until < case.expiration_ledger:
        return case.undecided(f"{spent}, and may be able to use it again")
    return case.unpaid(spent)
