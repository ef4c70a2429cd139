"""Send one attempt and watch it until the chain has decided it."""

import logging
import threading
from dataclasses import dataclass

from provider.chain.node import Found, Node
from provider.errors import RpcError
from provider.facilitator.attempts import Attempt, State

logger = logging.getLogger(__name__)

RESEND_POLLS = 20
"""Polls after which an unseen transaction is sent once more: networks drop some silently."""
TAKEN = ("PENDING", "DUPLICATE")


class Stopped(Exception):
    """The facilitator stops; what is open stays open and is taken up again at the next start."""


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """What became of an attempt; `code` names why the network did not take it."""

    state: State
    ledger: int | None = None
    code: str | None = None


class Submission:
    """One attempt on its way. The same envelope may be sent any number of times: its hash is its identity."""

    def __init__(
        self,
        attempt: Attempt,
        node: Node,
        stopping: threading.Event,
        poll_seconds: float,
        *,
        resumed: bool = False,
    ) -> None:
        self._attempt, self._node, self._stopping, self._poll_seconds = attempt, node, stopping, poll_seconds
        self._may_be_out = resumed
        """Whether the network may have it. Until then an ERROR proves that nothing can land."""
        self._polls_to_send = 0

    def run(self) -> AttemptEnd:
        """Send and poll until decided. Raises Stopped."""
        while True:
            decision = self._send_if_due() or self._look()
            if decision is not None:
                return decision
            if self._stopping.wait(self._poll_seconds):
                raise Stopped

    def _send_if_due(self) -> AttemptEnd | None:
        self._polls_to_send -= 1
        if self._polls_to_send >= 0:
            return None
        try:
            sent = self._node.send(self._attempt.envelope)
        except RpcError as error:
            logger.warning(
                "settlement.send_reply_lost", extra={"hash": self._attempt.hash, "error": str(error)}
            )
            self._may_be_out = True
            return None
        if sent.status in TAKEN:
            self._may_be_out, self._polls_to_send = True, RESEND_POLLS
            return None
        return self._not_taken(sent.status, sent.code)

    def _not_taken(self, status: str, code: str | None) -> AttemptEnd | None:
        """TRY_AGAIN_LATER is tried again. An ERROR is final, unless an earlier copy may be out: then it may
        just say that the sequence number is used, by this very transaction."""
        if status == "TRY_AGAIN_LATER":
            return None
        logger.warning(
            "settlement.not_taken", extra={"hash": self._attempt.hash, "status": status, "code": code}
        )
        if status == "ERROR" and not self._may_be_out:
            return AttemptEnd(State.REJECTED, code=code)
        self._may_be_out, self._polls_to_send = True, RESEND_POLLS
        return None

    def _look(self) -> AttemptEnd | None:
        try:
            found = self._node.transaction(self._attempt.hash)
        except (RpcError, KeyError, ValueError) as error:
            logger.warning("settlement.poll_failed", extra={"hash": self._attempt.hash, "error": str(error)})
            return None
        return self._decide(found)

    def _decide(self, found: Found) -> AttemptEnd | None:
        """Read an answer. A node that has seen a ledger close after the time bounds has seen all chances."""
        if found.status == "SUCCESS":
            return AttemptEnd(State.SETTLED, found.ledger)
        if found.status == "FAILED":
            return AttemptEnd(State.FAILED, found.ledger)
        if found.latest.closed_at > self._attempt.max_time:
            return AttemptEnd(State.DEAD)
        return None
