"""The answers of `/settle`: settled, refused before anything was sent, or still open."""

from dataclasses import dataclass
from typing import Any

from provider.facilitator.attempts import Attempt
from provider.payments.schemas import settlement_response

SETTLEMENT_PENDING = "settlement_pending"
TRANSACTION_FAILED = "settle_exact_stellar_transaction_failed"
SUBMISSION_FAILED = "settle_exact_stellar_transaction_submission_failed"
NO_CHANNEL = "settle_exact_stellar_signer_selection_failed"
UNEXPECTED = "unexpected_settle_error"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a payment. A reason without a hash means that nothing was sent."""

    network: str
    payer: str | None = None
    amount: int | None = None
    transaction: str = ""
    reason: str | None = None
    message: str | None = None

    @property
    def settled(self) -> bool:
        return self.reason is None

    def as_json(self) -> dict[str, Any]:
        """Spell it as a `SettlementResponse`."""
        return settlement_response(
            success=self.settled,
            network=self.network,
            transaction=self.transaction,
            payer=self.payer,
            amount=self.amount if self.settled else None,
            error_reason=self.reason,
            error_message=self.message,
        )


def settled(attempt: Attempt) -> Outcome:
    return Outcome(attempt.network, attempt.payer, int(attempt.amount), attempt.hash)


def pending(network: str, payer: str, transaction: str, message: str) -> Outcome:
    """Sent by this facilitator or settled by another submitter: only the chain can decide, and it will."""
    return Outcome(network, payer, None, transaction, SETTLEMENT_PENDING, message)


def failed(attempt: Attempt, message: str) -> Outcome:
    return Outcome(attempt.network, attempt.payer, None, attempt.hash, TRANSACTION_FAILED, message)


def refused(network: str, payer: str | None, reason: str, message: str) -> Outcome:
    """Nothing was sent for this payment, now or earlier."""
    return Outcome(network, payer, None, "", reason, message)
