"""What is known about one job's payment, without any I/O (standard §10)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from stellar_sdk import StrKey

from provider.chain.history import Span
from provider.chain.nonces import NonceReading
from provider.chain.onchain import Sighting, Transfer, Use
from provider.chain.rpc import Health
from provider.jobs.model.job import Job, Terms

CLOCK_MARGIN_SECONDS = 600
"""By how much the clocks of Redis and of the network may differ."""
PACE_MARGIN = 2
"""By what factor ledgers may have closed faster than they do on the average."""


class Step(StrEnum):
    """A way to learn more, after the nonce entry; in the order of their cost."""

    HINT = "hint"
    """Look at the transaction that the facilitator named."""
    EVENTS = "events"
    """Search the transfers between the two parties, and look at their transactions."""
    SCAN = "scan"
    """List all transactions."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that one RPC showed about one payment."""

    job_id: str
    first_ledger: int | None
    """Earliest ledger that the payment can have landed in; None if it is unknown."""
    expiration_ledger: int
    reading: NonceReading
    hint: str = ""
    """Hash that the facilitator named."""
    taken: frozenset[Step] = frozenset()
    """Steps that were taken, with or without success."""
    sightings: tuple[Sighting, ...] = ()
    """Transactions that used the nonce."""
    silent: tuple[Span, ...] = ()
    """Ledgers whose transfers between the two parties were all looked at."""
    scanned: tuple[Span, ...] = ()
    """Ledgers whose transactions were all looked at."""
    trouble: str = ""
    """Why a step failed, in the words of the RPC."""

    @property
    def is_used(self) -> bool:
        """A live entry that was last written by the expiration was made by then, whatever call made it."""
        modified = self.reading.modified_ledger
        return modified is not None and modified <= self.expiration_ledger

    @property
    def spent(self) -> list[int]:
        """Ledgers in which the payer used the nonce for another call, in order."""
        return sorted(seen.ledger for seen in self.sightings if seen.use is Use.SPENT)

    @property
    def payment(self) -> Sighting | None:
        """The transaction that paid, if it was seen."""
        paid = (seen for seen in self.sightings if seen.use is Use.PAID)
        return next((seen for seen in paid if seen.ledger <= self.expiration_ledger), None)


def is_legible(terms: Terms) -> bool:
    """Return whether terms name accounts that the chain can be asked about."""
    payee = StrKey.is_valid_ed25519_public_key(terms.pay_to) or StrKey.is_valid_contract(terms.pay_to)
    payer = StrKey.is_valid_ed25519_public_key(terms.payer) or StrKey.is_valid_contract(terms.payer)
    return payee and payer and StrKey.is_valid_contract(terms.asset)


def transfer_of(terms: Terms) -> Transfer:
    """Give the transfer that a claim promised."""
    return Transfer(terms.asset, terms.payer, terms.pay_to, terms.amount, terms.nonce)


def first_ledger_of(job: Job, read_health: Callable[[], Health | None], ledger_seconds: float) -> int | None:
    """Give the earliest ledger that a payment can have landed in; None if it cannot be worked out.

    That is the one at its claim. Where the ledger clock had no answer then, it is worked out backwards from
    now, generously, since an early guess only makes a proof harder.
    """
    if job.terms.claim_ledger is not None:
        return job.terms.claim_ledger
    health = read_health()
    if health is None or health.latest_close_time is None:
        return None
    age_seconds = health.latest_close_time - job.created_at_ms / 1000
    if age_seconds < 0:
        return None
    ledgers = math.ceil((age_seconds + CLOCK_MARGIN_SECONDS) * PACE_MARGIN / ledger_seconds)
    return max(1, health.latest_ledger - ledgers)
