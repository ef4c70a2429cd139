"""Collecting the evidence about many payments from one RPC, the cheapest first (standard §10).

Nonces come first, in batches, then what the facilitator named, then events; lists of all transactions come
last, and one that fails leaves the other jobs alone. `decide` says after each step what is still open.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial

import structlog

from provider.chain.history import Search, TransferSearch
from provider.chain.nonces import NonceReading
from provider.chain.onchain import Sighting, Transfer, Use
from provider.chain.scan import Pages, Scan
from provider.chain.witness import Witness
from provider.errors import RpcError
from provider.jobs.model.codec import UNREADABLE
from provider.jobs.model.job import Job
from provider.jobs.reconcile.decide import Decision, Verdict, decide, searchable, useful_steps
from provider.jobs.reconcile.evidence import Evidence, Step, first_ledger_of, is_legible, transfer_of

log = structlog.get_logger()

HEX_DIGITS = frozenset("0123456789abcdef")
UNANSWERED = "no answer from the RPC: {}"


@dataclass(slots=True)
class Case:
    """A job, the transfer it waits for, and what is known about it."""

    job: Job
    wanted: Transfer
    evidence: Evidence
    is_believable: bool = False
    """Its hint is the receipt of this job alone."""

    def learn(self, step: Step, **more: object) -> None:
        """Note that a step was taken, and what it gave."""
        self.evidence = replace(self.evidence, taken=self.evidence.taken | {step}, **more)  # type: ignore[arg-type]

    def see(self, sighting: Sighting) -> None:
        """Note a transaction that used the nonce."""
        if sighting.use in (Use.PAID, Use.SPENT) and sighting not in self.evidence.sightings:
            self.evidence = replace(self.evidence, sightings=(*self.evidence.sightings, sighting))


class Inquiry:
    """Decides by one RPC alone. Never raises RpcError: a job without an answer is undecided."""

    def __init__(self, witness: Witness, ledger_seconds: float, pages: Pages) -> None:
        self.witness = witness
        self._ledger_seconds = ledger_seconds
        self._pages = pages

    def decide(self, jobs: Collection[Job], *, audited: bool = False) -> list[Decision]:
        """Decide jobs, in their order.

        The receipt of an `audited` job is believed if its transaction left the event of the payment in the
        ledger that wrote the nonce entry last: one request for many jobs instead of one for each.
        """
        cases, decisions = self._cases(jobs)
        if audited:
            _mark_believable(cases)
        self._search_events([case for case in _open_to(Step.EVENTS, cases) if case.evidence.is_used])
        self._look_at_hints(_open_to(Step.HINT, cases))
        self._search_events(_open_to(Step.EVENTS, cases))
        self._scan(_open_to(Step.SCAN, cases))
        decisions |= {case.job.id: decide(case.evidence) for case in cases}
        return [decisions[job.id] for job in jobs]

    def _cases(self, jobs: Collection[Job]) -> tuple[list[Case], dict[str, Decision]]:
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
                decisions[job.id] = undecided(job, UNANSWERED.format(reading), later=True)
                continue
            cases.append(Case(job, wanted[job.id], self._evidence(job, reading)))
        return cases, decisions

    def _evidence(self, job: Job, reading: NonceReading) -> Evidence:
        first, until = self._first_ledger(job), job.terms.expiration_ledger
        return Evidence(job.id, first, until, reading, hint_of(job))

    def _first_ledger(self, job: Job) -> int | None:
        try:
            return first_ledger_of(job, self.witness.health, self._ledger_seconds)
        except RpcError:
            return None

    # The steps

    def _look_at_hints(self, cases: list[Case]) -> None:
        for case in cases:
            with_answer(case, Step.HINT, partial(self._look_at, case, case.evidence.hint))

    def _look_at(self, case: Case, tx_hash: str) -> Use | None:
        sighting = self.witness.look_at(tx_hash, case.wanted)
        if sighting is None:
            return None
        case.see(sighting)
        return sighting.use

    def _search_events(self, cases: list[Case]) -> None:
        spans = {case.wanted: span for case in cases if (span := searchable(case.evidence))}
        found = TransferSearch(self.witness).run(spans)
        for case in cases:
            answer = found[case.wanted]
            with_answer(case, Step.EVENTS, partial(self._follow, case, answer))

    def _follow(self, case: Case, found: Search | RpcError) -> None:
        """Look at the transactions that may have paid; the ledgers are silent if clearly none of them did."""
        if isinstance(found, RpcError):
            raise found
        hint, written = case.evidence.hint, case.evidence.reading.modified_ledger
        if case.is_believable and written is not None and found.transactions.get(hint) == written:
            case.see(Sighting(Use.PAID, hint, written))
        likely = sorted(found.transactions.items(), key=lambda known: (known[0] != hint, known[1] != written))
        unclear = []
        for tx_hash, _ in likely:
            if case.evidence.payment is not None:
                return
            if self._look_at(case, tx_hash) in (None, Use.UNCLEAR):
                unclear.append(tx_hash)
        if unclear:
            raise RpcError(f"{unclear[0]} does not show whether it used the nonce")
        if found.seen is not None:
            case.learn(Step.EVENTS, silent=(found.seen,))

    def _scan(self, cases: list[Case]) -> None:
        """List transactions, in another order each time: a run may not come to the end."""
        for case in random.sample(cases, len(cases)):
            with_answer(case, Step.SCAN, partial(self._list, case))

    def _list(self, case: Case) -> None:
        """Begin with the last ledger: an entry that was not touched was made in it."""
        first, last = searchable(case.evidence) or (1, 0)
        scan = Scan(self.witness, self._pages, case.wanted)
        for part in ((last, last), (first, last - 1)):
            if part[0] > part[1] or decide(case.evidence).verdict is not Verdict.UNDECIDED:
                return
            try:
                covered = scan.run(*part)
            finally:
                for sighting in scan.found:
                    case.see(sighting)
            case.learn(Step.SCAN, scanned=(*case.evidence.scanned, *filter(None, [covered])))


def _open_to(step: Step, cases: Collection[Case]) -> list[Case]:
    return [case for case in cases if step in useful_steps(case.evidence)]


def _mark_believable(cases: Collection[Case]) -> None:
    jobs_of = Counter(case.evidence.hint for case in cases)
    for case in cases:
        case.is_believable = bool(case.evidence.hint) and jobs_of[case.evidence.hint] == 1


def with_answer(case: Case, step: Step, take: Callable[[], object]) -> None:
    """Take a step for one case; its failure is a part of the evidence."""
    case.learn(step)
    try:
        take()
    except RpcError as error:
        case.learn(step, trouble=str(error))


def hint_of(job: Job) -> str:
    """Give the hash that the facilitator named, if it named one."""
    text = (job.receipt.transaction if job.receipt else job.settlement.get("transaction", "")).lower()
    return text if len(text) == 64 and set(text) <= HEX_DIGITS else ""


def undecided(job: Job, reason: str, *, later: bool = False) -> Decision:
    """Leave a job undecided."""
    return Decision(job.id, Verdict.UNDECIDED, reason, later=later)
