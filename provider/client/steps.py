"""The steps of a purchase: ask without payment, choose, sign one payment, and hold on to that one.

For every 402 the reference clients sign another payment (facts D2). Here a call has a single one, which is
sent again after lost replies and refusals for now: the provider gives the same job (J3).
"""

from provider.client.conclusion import conclude
from provider.client.delivery import Delivery
from provider.client.entry import JournalEntry
from provider.client.errors import CallRefused, NotApproved
from provider.client.exchange import Consent, HttpReply, Lost, Pause, Steps, Work
from provider.client.patience import Patience
from provider.client.payment import Payment
from provider.client.pursuit import CallEnd, Ending, OnProgress, Pursuit, ask, body_of
from provider.client.reading import FOR_NOW, ServiceAddress, job_of, problem_text, retry_after, settlement_of
from provider.client.wallet import Wallet, Wanted

MOST_UNANSWERED = 5
"""Calls without payment that are lost, before the buyer gives up: there is nothing to hold on to."""


def buy(
    wanted: Wanted, wallet: Wallet, patience: Patience, on_progress: OnProgress | None
) -> Steps[Delivery]:
    """Buy one call.

    Raises:
        NothingPaid, Paid, Undecided
    """
    wallet.limits.check_origin(wanted.url)
    reply = yield from _ask(wanted, wallet, patience)
    if reply.status != 402:
        return _free(wanted, reply)
    chosen = yield Work(lambda: wallet.choose(wanted, reply))
    approve = wallet.limits.approve
    if approve is not None and (yield Consent(lambda: approve(chosen.quote))) is not True:
        raise NotApproved(f"The purchase for {chosen.quote.price} was not approved.")
    payment = yield Work(lambda: wallet.sign(wanted, chosen))
    return (yield from _pursue(payment, wallet, patience, on_progress))


def resume(
    payment: Payment,
    known: JournalEntry | None,
    wallet: Wallet,
    patience: Patience,
    on_progress: OnProgress | None,
) -> Steps[Delivery]:
    """Go on with a payment that was signed before.

    Raises:
        NothingPaid, Paid, Undecided
    """
    if known is not None and (saved := _saved(known)) is not None:
        return (yield from conclude(payment, saved, wallet, patience))
    return (yield from _pursue(payment, wallet, patience, on_progress, again=True))


def _pursue(
    payment: Payment,
    wallet: Wallet,
    patience: Patience,
    on_progress: OnProgress | None,
    *,
    again: bool = False,
) -> Steps[Delivery]:
    pursuit = Pursuit(
        payment,
        patience,
        proof=lambda: wallet.proof(payment),
        unix_now=wallet.now,
        on_progress=on_progress,
        again=again,
    )
    ending = yield from pursuit.run()
    return (yield from conclude(payment, ending, wallet, patience))


def _ask(wanted: Wanted, wallet: Wallet, patience: Patience) -> Steps[HttpReply]:
    """Call without payment; a full lane is asked again, since nothing was signed yet. Raises CallRefused."""
    unanswered = 0
    while True:
        body = body_of(wanted.method, wanted.input)
        reply = yield ask(wanted.method, wanted.url, {}, body, patience.hold)
        if isinstance(reply, HttpReply) and reply.status not in FOR_NOW:
            return reply
        lost = isinstance(reply, Lost)
        unanswered += lost
        advised = None if lost else retry_after(reply, wallet.now())
        pause = patience.pause(advised)
        if unanswered == MOST_UNANSWERED or pause is None:
            gist = f"no answer ({reply.why})" if isinstance(reply, Lost) else problem_text(reply)
            raise CallRefused(f"{wanted.url} cannot be called now: {gist}")
        yield Pause(pause)


def _free(wanted: Wanted, reply: HttpReply) -> Delivery:
    """Take the answer of a seller that asked for no money."""
    if not 200 <= reply.status < 300:
        raise CallRefused(problem_text(reply), reply=reply)
    return Delivery(wanted.url, reply, job_of(reply, ServiceAddress.of(wanted.url)))


def _saved(known: JournalEntry) -> Ending | None:
    """Build the end of a call from the answer that a crash left in the journal, if it left a last one."""
    reply = known.reply
    if reply is None or known.kind not in (CallEnd.DELIVERED, CallEnd.JOB_FAILED):
        return None
    job = job_of(reply, ServiceAddress.of(known.payment.url))
    return Ending(CallEnd(known.kind), reply, job, settlement_of(reply))
