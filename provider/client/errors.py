"""Why a purchase brought no result, in three families, by what became of the money.

`NothingPaid`: no money moved. `Paid`: it did, and the result is missing. `Undecided`: it may have, or still
may. `payment`, where there is one, is what to hand to `Buyer.resume`; a second payment is never the remedy.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from provider.errors import ProviderError

if TYPE_CHECKING:
    from provider.client.exchange import HttpReply
    from provider.client.payment import Payment
    from provider.payments.models import Receipt


class BuyerError(ProviderError):
    """The purchase brought no result."""

    code = "buyer_error"

    def __init__(
        self,
        detail: str | None = None,
        *,
        payment: "Payment | None" = None,
        reply: "HttpReply | None" = None,
        job: Mapping[str, Any] | None = None,
        receipt: "Receipt | None" = None,
    ) -> None:
        self.payment = payment
        """What was signed: it stays usable until its expiration ledger."""
        self.reply = reply
        """The last answer of the seller."""
        self.job = job
        self.receipt = receipt
        """What was paid, once that is known."""
        super().__init__(detail)


# Nothing was paid


class NothingPaid(BuyerError):
    """Nothing was paid."""

    code = "nothing_paid"


class NoAcceptableOffer(NothingPaid):
    """Nothing on offer can be paid by this buyer."""

    code = "no_acceptable_offer"


class LimitReached(NothingPaid):
    """The purchase would go beyond the buyer's limits."""

    code = "limit_reached"


class NotApproved(NothingPaid):
    """The purchase was not approved."""

    code = "not_approved"


class CallRefused(NothingPaid):
    """The seller refuses the call, or cannot be reached."""

    code = "call_refused"


class CannotSign(NothingPaid):
    """The payment cannot be signed: the chain would refuse it, or does not answer."""

    code = "cannot_sign"


class PaymentRefused(NothingPaid):
    """The seller refused the payment before using it."""

    code = "payment_refused"


class JobFailed(NothingPaid):
    """The job failed, and was not charged."""

    code = "job_failed"


# Paid


class Paid(BuyerError):
    """The payment was made, and there is no result."""

    code = "paid"


class AnswerMissing(Paid):
    """The payment was made; its answer did not arrive whole. Ask again with the same payment."""

    code = "answer_missing"


class PaidJobFailed(Paid):
    """The job was paid in advance, and failed."""

    code = "paid_job_failed"


class PaidJobOpen(Paid):
    """The job is paid, and not finished yet. Ask again with the same payment."""

    code = "paid_job_open"


# Neither is known


class Undecided(BuyerError):
    """Whether the payment is used is not decided yet. Ask again with the same payment, never with another."""

    code = "undecided"


class NoAnswer(Undecided):
    """The seller did not answer the paid call. Ask again with the same payment."""

    code = "no_answer"


class JobOpen(Undecided):
    """The job is not finished yet, nor charged. Ask again with the same payment."""

    code = "job_open"
