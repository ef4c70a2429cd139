"""What the answers of a Stellar RPC mean for a claim: decisions without any I/O (standard §10)."""

import math
from dataclasses import dataclass
from enum import StrEnum

from stellar_sdk import StrKey

from provider.chain.onchain import Transfer
from provider.chain.rpc import Health
from provider.chain.witness import NonceReading
from provider.jobs.model.job import Job, Terms

CLOCK_MARGIN_SECONDS = 600
"""By how much the clocks of Redis and of the network may differ."""
PACE_MARGIN = 2
"""By what factor ledgers may have closed faster than they do on the average."""


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
    """Hash of the transaction that paid; empty if it was not found."""
    ledger: int | None = None
    recorded: bool = False
    """The job was moved by this decision."""


class Stand(StrEnum):
    """What the nonce entry alone says about a payment."""

    USED = "used"
    OPEN = "open"
    """Unused, and the payment may still be made."""
    UNUSED = "unused"
    """Unused for good: the payment was not made and cannot be made any more."""
    GONE = "gone"
    """No entry, but if the payment was made its entry may have gone by now."""


def is_legible(terms: Terms) -> bool:
    """Tell whether terms name accounts that the chain can be asked about."""
    payee = StrKey.is_valid_ed25519_public_key(terms.pay_to) or StrKey.is_valid_contract(terms.pay_to)
    payer = StrKey.is_valid_ed25519_public_key(terms.payer) or StrKey.is_valid_contract(terms.payer)
    return payee and payer and StrKey.is_valid_contract(terms.asset)


def transfer_of(terms: Terms) -> Transfer:
    """Give the transfer that a claim promised."""
    return Transfer(terms.asset, terms.payer, terms.pay_to, terms.amount, terms.nonce)


def stand_of(reading: NonceReading, expiration_ledger: int, first_ledger: int | None) -> Stand:
    """Judge a nonce entry, or its absence.

    `first_ledger` is the earliest that the payment could have landed in, None if nobody knows. An entry made
    after the expiration is not ours; it shows that there was none of ours when it was made.
    """
    used = reading.used_ledger
    if used is not None and used <= expiration_ledger:
        return Stand.USED
    absent_at = reading.latest_ledger if used is None else used
    if absent_at <= expiration_ledger:
        return Stand.OPEN
    proven = first_ledger is not None and absent_at <= first_ledger + reading.proof_ledgers
    return Stand.UNUSED if proven else Stand.GONE


def first_ledger_of(job: Job, health: Health | None, ledger_seconds: float) -> int | None:
    """Tell the earliest ledger that a payment could have landed in.

    That is the one at its claim. Where the ledger clock had no answer then, it is worked out backwards from
    now, generously, since an early guess only makes a proof harder; None if not even that can be done.
    """
    if job.terms.claim_ledger is not None:
        return job.terms.claim_ledger
    if health is None or health.latest_close_time is None:
        return None
    age_seconds = health.latest_close_time - job.created_at_ms / 1000
    if age_seconds < 0:
        return None
    ledgers = math.ceil((age_seconds + CLOCK_MARGIN_SECONDS) * PACE_MARGIN / ledger_seconds)
    return max(1, health.latest_ledger - ledgers)
