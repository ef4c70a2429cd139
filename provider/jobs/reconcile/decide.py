"""Deciding a payment by its evidence alone: a function without I/O (standard §10; docs/reconciliation.md).

A payment may have landed in any ledger from its claim to its expiration. Each piece of evidence rules some of
them out. It was paid if the transaction that paid was seen, unpaid if no ledger is left, and undecided
otherwise. Nothing is concluded from what could not be read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from provider.chain.history import Span
from provider.jobs.reconcile.evidence import Evidence, Step

MORE_HISTORY = "use an RPC with more history"


class Verdict(StrEnum):
    """Whether a payment was made."""

    PAID = "paid"
    UNPAID = "unpaid"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is known about one job's payment, and why."""

    job_id: str
    verdict: Verdict
    reason: str
    transaction: str = ""
    """Hash of the transaction that paid."""
    ledger: int | None = None
    recorded: bool = False
    """The job was moved by this decision."""
    later: bool = False
    """Undecided, and the same RPCs may say more in another run."""


def decide(evidence: Evidence) -> Decision:
    """Decide one payment."""
    job_id, payment = evidence.job_id, evidence.payment
    if payment is not None:
        reason = f"paid in ledger {payment.ledger}"
        return Decision(job_id, Verdict.PAID, reason, payment.transaction, payment.ledger)
    if not open_ledgers(evidence):
        return Decision(job_id, Verdict.UNPAID, _why_unpaid(evidence))
    reason, later = _why_open(evidence)
    return Decision(job_id, Verdict.UNDECIDED, reason, later=later)


def useful_steps(evidence: Evidence) -> set[Step]:
    """Return the steps that can still decide something."""
    if evidence.payment is not None or not _past(evidence):
        return set()
    span = searchable(evidence)
    useful = {
        Step.HINT: bool(evidence.hint),
        Step.EVENTS: span is not None,
        Step.SCAN: span is not None and evidence.is_used,
    }
    return {step for step in Step if useful[step] and step not in evidence.taken}


def searchable(evidence: Evidence) -> Span | None:
    """Give the closed ledgers to search for the payment; None if there are none, or none are known."""
    past = _past(evidence)
    if not past:
        return None
    first, last = past[0][0], past[-1][1]
    if evidence.first_ledger is None:
        return (last, last) if evidence.is_used else None
    return first, last


def _past(evidence: Evidence) -> list[Span]:
    """List the ledgers in which the payment may have landed, and that are worth a search."""
    latest = evidence.reading.latest_ledger
    if evidence.reading.modified_ledger is None:
        latest -= 1  # There is no entry in the latest one; after it the payment may still be made.
    return [(first, min(last, latest)) for first, last in open_ledgers(evidence) if first <= latest]


# Which ledgers are ruled out


def open_ledgers(evidence: Evidence) -> list[Span]:
    """List the ledgers in which the payment may have landed, or may land yet, for all that is known."""
    first = evidence.first_ledger or 1
    if evidence.reading.modified_ledger is not None:
        first = min(first, evidence.reading.modified_ledger)  # Paid before it was claimed, perhaps.
    spans = [(first, evidence.expiration_ledger)]
    for ruled_out in (by_nonce(evidence), by_another_call(evidence), by_silence(evidence)):
        for span in ruled_out:
            spans = _without(spans, span)
    return spans


def by_nonce(evidence: Evidence) -> Iterator[Span]:
    """A live entry keeps the nonce from being used; an absent one was not made lately."""
    reading = evidence.reading
    if reading.modified_ledger is None:
        yield reading.unmade(evidence.expiration_ledger, reading.latest_ledger)
    else:
        yield reading.modified_ledger + 1, max(reading.latest_ledger, reading.live_until_ledger)


def by_another_call(evidence: Evidence) -> Iterator[Span]:
    """Another call can use the nonce only where no entry is, and makes one."""
    reading, window = evidence.reading, evidence.reading.window
    for ledger in evidence.spent:
        yield reading.unmade(evidence.expiration_ledger, ledger)
        yield ledger, ledger + (window.ledgers if ledger >= window.since else 0)


def by_silence(evidence: Evidence) -> Iterator[Span]:
    """Ledgers without the transfer; but a nonce that was used must be seen to have been used otherwise."""
    if not evidence.is_used:
        yield from evidence.silent
    elif evidence.spent:
        yield from evidence.scanned


def _without(spans: list[Span], ruled_out: Span) -> list[Span]:
    first, last = ruled_out
    if first > last:
        return spans
    parts = [part for a, b in spans for part in ((a, min(b, first - 1)), (max(a, last + 1), b))]
    return [(a, b) for a, b in parts if a <= b]


# Reasons


def _why_unpaid(evidence: Evidence) -> str:
    if evidence.spent:
        return f"the payer used the nonce for another call in ledger {evidence.spent[-1]}"
    if evidence.silent:
        return f"no transaction of {_named(evidence.silent[0])} used the nonce"
    return f"the nonce was not used until ledger {evidence.expiration_ledger}"


def _why_open(evidence: Evidence) -> tuple[str, bool]:
    """Say why a payment is undecided, and whether that can change by itself."""
    latest, until = evidence.reading.latest_ledger, evidence.expiration_ledger
    past = _past(evidence)
    if not past:
        if evidence.reading.modified_ledger is None:
            return f"the payment can be made until ledger {until}, the RPC is at {latest}", True
        spent = f"the payer used the nonce for another call in ledger {evidence.spent[-1]}"
        return f"{spent}, and may be able to use it again", True
    span = past[0][0], past[-1][1]
    if evidence.is_used and _is_covered(past, evidence.scanned):
        return f"one of {_named(span)} used the nonce, but no transaction in it shows how", False
    if evidence.trouble:
        return f"no answer from the RPC: {evidence.trouble}", True
    if evidence.first_ledger is None:
        return "the ledger of the claim is unknown", False
    return f"{_named(span)} are not all in the RPC's history; {MORE_HISTORY}", False


def _is_covered(spans: list[Span], by: tuple[Span, ...]) -> bool:
    for span in by:
        spans = _without(spans, span)
    return not spans


def _named(span: Span) -> str:
    return f"ledgers {span[0]} to {span[1]}"
