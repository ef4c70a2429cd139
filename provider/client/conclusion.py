"""What a paid call came to: a delivery, or an error of the family that says what became of the money."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from provider.client.delivery import Delivery, receipt_line
from provider.client.errors import (
    AnswerMissing,
    BuyerError,
    CallRefused,
    JobFailed,
    JobOpen,
    NoAnswer,
    PaidJobFailed,
    PaidJobOpen,
    PaymentRefused,
    Undecided,
)
from provider.client.evidence import ChainAnswer, Standing
from provider.client.exchange import Pause, Steps, Work
from provider.client.patience import Patience
from provider.client.payment import Payment
from provider.client.pursuit import CallEnd, Ending
from provider.client.reading import problem_text, refusal_reason
from provider.client.wallet import Wallet
from provider.payments.models import Receipt
from provider.payments.reasons import REFUSED_BEFORE_SUBMISSION

LOOKS = 5
"""Looks at the chain for a payment that may be there: its RPC may be some ledgers behind the seller's."""
LOOK_PAUSE_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A paid call at its end, with what the chain says."""

    payment: Payment
    ending: Ending
    evidence: ChainAnswer

    @property
    def paid(self) -> bool:
        return self.evidence.standing is Standing.PAID or says_paid(self.ending)

    @property
    def verified(self) -> bool:
        return self.evidence.standing is Standing.PAID

    @property
    def receipt(self) -> Receipt | None:
        """The chain's receipt, else what the seller says."""
        if not self.paid:
            return None
        one, transaction = self.payment, self.evidence.transaction or named_transaction(self.ending)
        return Receipt(one.network, transaction, one.payer, one.amount, one.asset, self.evidence.ledger)

    @property
    def finished(self) -> bool:
        """Nothing more is to be had by asking again."""
        if self.ending.kind in (CallEnd.DELIVERED, CallEnd.JOB_FAILED):
            return True
        if self.ending.kind is CallEnd.REFUSED:
            return self.evidence.standing is not Standing.OPEN or not is_doubtful(self.ending)
        return self.evidence.standing is Standing.UNPAID

    def delivery(self, notes: tuple[str, ...]) -> Delivery:
        assert self.ending.reply is not None
        known = (self.ending.job, self.payment, self.receipt, self.verified, notes)
        return Delivery(self.payment.url, self.ending.reply, *known)


def conclude(payment: Payment, ending: Ending, wallet: Wallet, patience: Patience) -> Steps[Delivery]:
    """Save the answer, look for the payment on the chain, write the receipt, and return or raise.

    Raises:
        NothingPaid, Paid, Undecided
    """
    notes: tuple[str, ...] = ()
    if (reply := ending.reply) is not None:
        notes = yield Work(lambda: wallet.keep(payment, reply, ending.kind))
    case = Conclusion(payment, ending, (yield from _look(payment, ending, wallet, patience)))
    error = error_of(case)
    outcome = error.code if error else str(ending.kind)
    line = receipt_line(payment, outcome, case.receipt, case.verified, reply, wallet.now())
    more = yield Work(lambda: wallet.close(payment, case.evidence, line, finished=case.finished))
    if error is not None:
        raise error
    return case.delivery((*notes, *more))


def _look(payment: Payment, ending: Ending, wallet: Wallet, patience: Patience) -> Steps[ChainAnswer]:
    """Ask the chain, more than once where the payment should be there, or may be about to."""
    transaction = named_transaction(ending)
    looks_left = LOOKS if says_paid(ending) or is_doubtful(ending) else 1
    while True:
        evidence: ChainAnswer = yield Work(lambda: wallet.witness.look(payment, transaction))
        looks_left -= 1
        decided = evidence.standing is not Standing.OPEN
        if decided or not evidence.asked or not looks_left or not patience.left:
            return evidence
        yield Pause(min(LOOK_PAUSE_SECONDS, patience.left))


def error_of(case: Conclusion) -> BuyerError | None:
    """Choose the error that says what became of the money; None for a delivery."""
    write = _TEXTS.get(case.ending.kind)
    if write is None:
        return None
    kind, text = write(case)
    if case.evidence.standing is Standing.OPEN and not case.paid:
        text += f" The signed payment is usable until ledger {case.payment.expiration_ledger}."
    ending = case.ending
    known: dict[str, Any] = {"payment": case.payment, "reply": ending.reply, "job": ending.job}
    return kind(text, **known, receipt=case.receipt)


Words = tuple[type[BuyerError], str]


def _job_failed(case: Conclusion) -> Words:
    job = case.ending.job or {}
    error = job.get("error")
    error = error if isinstance(error, Mapping) else {}
    gist = f"The job {job.get('status')} ({error.get('code')}): {error.get('message')}"
    if case.paid:
        return PaidJobFailed, f"{gist} It was paid for: {_receipt_text(case)}."
    return JobFailed, f"{gist} Nothing was charged."


def _refused(case: Conclusion) -> Words:
    assert case.ending.reply is not None
    gist = problem_text(case.ending.reply)
    if case.paid:
        return AnswerMissing, f"It is paid ({_receipt_text(case)}), and the seller answers {gist}."
    if case.evidence.standing is Standing.OPEN and is_doubtful(case.ending):
        return Undecided, f"The seller answers {gist}; whether it used the payment is not known."
    if case.ending.reply.status == 402:
        return PaymentRefused, f"The seller refuses the payment: {gist}. Nothing was paid."
    return CallRefused, f"The seller refuses the call: {gist}. Nothing was paid."


def _no_content(case: Conclusion) -> Words:
    reply = case.ending.reply
    gist = problem_text(reply) if reply and reply.status >= 400 else "its answer cannot be read to the end"
    if case.paid:
        return AnswerMissing, f"It is paid ({_receipt_text(case)}), but the seller failed: {gist}."
    return NoAnswer, f"The seller failed: {gist}; whether it used the payment is not known."


def _open(case: Conclusion) -> Words:
    status = (case.ending.job or {}).get("status")
    if case.paid:
        return PaidJobOpen, f"The job is {status}, and paid ({_receipt_text(case)}). Ask again later."
    return JobOpen, f"The job is {status}, and not charged yet. Ask again later."


def _silent(case: Conclusion) -> Words:
    reply = case.ending.reply
    gist = (
        f"The seller answers {problem_text(reply)}" if reply else "The seller does not answer the paid call"
    )
    if case.paid:
        return AnswerMissing, f"{gist}; it is paid ({_receipt_text(case)})."
    if case.evidence.standing is Standing.UNPAID:
        return PaymentRefused, f"{gist}; the payment expired unused."
    return NoAnswer, f"{gist}; whether it used the payment is not known."


_TEXTS: Mapping[CallEnd, Callable[[Conclusion], Words]] = {
    CallEnd.JOB_FAILED: _job_failed,
    CallEnd.REFUSED: _refused,
    CallEnd.FAILED_PAID: _no_content,
    CallEnd.BROKEN: _no_content,
    CallEnd.OPEN: _open,
    CallEnd.SILENT: _silent,
}


def _receipt_text(case: Conclusion) -> str:
    receipt = case.receipt
    return f"transaction {receipt.transaction}" if receipt and receipt.transaction else "by its nonce"


def says_paid(ending: Ending) -> bool:
    """The seller says that the payment was made."""
    job = ending.job or {}
    error = job.get("error")
    charged = isinstance(error, Mapping) and error.get("charged") is True
    return charged or "payment" in job or (ending.settlement is not None and ending.settlement.success)


def named_transaction(ending: Ending) -> str:
    """The hash that the seller named, of whatever use it is."""
    payment = (ending.job or {}).get("payment")
    named = payment.get("transaction") if isinstance(payment, Mapping) else None
    if isinstance(named, str):
        return named
    return ending.settlement.transaction if ending.settlement else ""


def is_doubtful(ending: Ending) -> bool:
    """A refusal that proves nothing: the payment was sent before, or may have been submitted (facts D1)."""
    if ending.kind is not CallEnd.REFUSED or ending.reply is None:
        return False
    reason = refusal_reason(ending.reply)
    is_payment_refusal = ending.reply.status == 402 and reason not in REFUSED_BEFORE_SUBMISSION
    return ending.ambiguous or is_payment_refusal
