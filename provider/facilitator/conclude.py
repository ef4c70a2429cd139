"""What to answer for a payment that was sent but did not settle by a transaction we know."""

from provider.chain.node import Node
from provider.errors import RpcError
from provider.facilitator import outcome
from provider.facilitator.attempts import Attempt, State
from provider.facilitator.outcome import Outcome


def conclude(attempts: list[Attempt], node: Node) -> Outcome:
    """Decide by the nonce entry: any holder of the payload may have submitted it as well.

    Its absence proves as much as the network's setting allows, and nothing before that was read. Once
    something was sent this is never a refusal, since a refusal means "not paid, final".
    """
    last = next((attempt for attempt in reversed(attempts) if attempt.state != State.REJECTED), None)
    if last is None:
        return _nothing_sent(attempts[-1])
    if last.state == State.SETTLED:
        return outcome.settled(last)
    try:
        entry = node.nonce(last.payer, last.nonce)
    except (RpcError, KeyError) as error:
        return _pending(last, f"The chain does not answer now: {error}")
    if entry.exists:
        return _pending(last, "The authorisation was used by a transaction that is not ours.")
    if entry.proves_unused(attempts[0].first_ledger, last.expiration_ledger):
        return outcome.failed(last, "The authorisation expired unused: this payment was not made.")
    rest = "the authorisation is still valid."
    if entry.latest_ledger > last.expiration_ledger:
        rest = "the authorisation has expired, and the chain does not prove that it was not used."
    if last.state == State.FAILED:
        return outcome.failed(last, f"The transaction failed on chain; {rest}")
    return _pending(last, f"The transaction was not included in time; {rest}")


def _nothing_sent(attempt: Attempt) -> Outcome:
    message = "The network did not take the transaction; nothing was sent."
    return outcome.refused(attempt.network, attempt.payer, outcome.SUBMISSION_FAILED, message)


def _pending(attempt: Attempt, message: str) -> Outcome:
    return outcome.pending(attempt.network, attempt.payer, attempt.hash, message)
