"""What to answer for a payment that was sent but did not settle by a transaction we know."""

from provider.chain.node import Node
from provider.errors import RpcError
from provider.facilitator import outcome
from provider.facilitator.attempts import Attempt, State
from provider.facilitator.outcome import Outcome

PROOF_LEDGERS = 17_279
"""A nonce entry lives at least this long, so that long its absence is a proof (standard §10, 3)."""


def conclude(attempts: list[Attempt], node: Node) -> Outcome:
    """Decide by the nonce entry: whoever holds the payload may have submitted it as well.

    Once something was sent this is never a refusal, since a refusal means "not paid, final".
    """
    last = next((attempt for attempt in reversed(attempts) if attempt.state != State.REJECTED), None)
    if last is None:
        return _nothing_sent(attempts[-1])
    if last.state == State.SETTLED:
        return outcome.settled(last)
    try:
        used, ledger = node.nonce_used(last.payer, last.nonce)
    except (RpcError, KeyError) as error:
        return _pending(last, f"The chain does not answer now: {error}")
    if used:
        return _pending(last, "The authorisation was used by a transaction that is not ours.")
    if last.expiration_ledger < ledger <= attempts[0].first_ledger + PROOF_LEDGERS:
        return outcome.failed(last, "The authorisation expired unused: this payment was not made.")
    if last.state == State.FAILED:
        return outcome.failed(last, "The transaction failed on chain; the authorisation is still valid.")
    return _pending(last, "The transaction was not included in time; the authorisation is still valid.")


def _nothing_sent(attempt: Attempt) -> Outcome:
    message = "The network did not take the transaction; nothing was sent."
    return outcome.refused(attempt.network, attempt.payer, outcome.SUBMISSION_FAILED, message)


def _pending(attempt: Attempt, message: str) -> Outcome:
    return outcome.pending(attempt.network, attempt.payer, attempt.hash, message)
