"""How the time of a payment is shared out: waiting, work, and settling before it expires (S2, Q2)."""

import math

from provider.services import Service

FRESH_LEDGERS = 2
"""Ledgers that may close between a buyer's signature and our look at it."""
PACE_DOUBT = 1.05
"""How far a buyer's measurement of the last ledgers may lie above ours."""
USUAL_LEDGER_SECONDS = 5.0
"""What the reference client takes a ledger for where it measures nothing."""
LONGEST_STRETCH = 1.5
"""How many times `maxTimeoutSeconds` a payment may last that was signed for ledgers faster than they came."""


def longest_ledger_seconds(ledger_seconds: float) -> float:
    """Return the most that a buyer may take a ledger for: the reference client rounds up to whole seconds."""
    return math.ceil(ledger_seconds * PACE_DOUBT)


def shortest_ledger_seconds(ledger_seconds: float) -> float:
    """Return the least, with a tenth to spare: our bound only guards, the facilitator knows its own (§4)."""
    return min(ledger_seconds, USUAL_LEDGER_SECONDS) / 1.1


def needed_seconds(service: Service, margin_seconds: float, ledger_seconds: float) -> float:
    """Return how long a payment must be valid when it arrives: under on-success for the expected work too.

    One that was just signed with the whole `maxTimeoutSeconds` will do in any case.
    """
    if not service.charge.withholds_output:
        return margin_seconds
    # The ledger clock may have been read a ledger ago.
    needed = margin_seconds + service.expected_work_seconds + ledger_seconds
    ledgers = service.max_timeout_seconds / longest_ledger_seconds(ledger_seconds) - FRESH_LEDGERS
    return max(margin_seconds, min(needed, ledgers * ledger_seconds))


def longest_validity_seconds(service: Service) -> float:
    """Return after how long a payment has surely expired, as far as that is known without the chain."""
    return service.max_timeout_seconds * LONGEST_STRETCH


def window_seconds(service: Service, margin_seconds: float, valid_seconds: float = math.inf) -> float:
    """Return how long from now work may end; infinite where no payment waits for it (S2)."""
    return service.charge.deadline_seconds(
        offered_seconds=service.max_timeout_seconds,
        margin_seconds=margin_seconds,
        valid_seconds=valid_seconds,
    )


def most_wait_seconds(service: Service, margin_seconds: float, window: float = math.inf) -> float:
    """Return how long a job may be expected to wait for its turn.

    What is not paid for yet must leave room for its whole budget, a payment in hand for the expected work.
    """
    unpaid = window_seconds(service, margin_seconds) - service.timeout_seconds
    return max(0.0, min(service.max_wait_seconds, unpaid, window - service.expected_work_seconds))
