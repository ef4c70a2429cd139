"""One payment on its way to the chain, in a thread of its own; any number of requests wait for it."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from provider.chain.node import Node
from provider.errors import PaymentRejected, RpcError
from provider.facilitator import outcome
from provider.facilitator.attempts import Attempt, Attempts, State
from provider.facilitator.build import build_attempt
from provider.facilitator.channels import Channel, Channels
from provider.facilitator.conclude import conclude
from provider.facilitator.config import FacilitatorConfig
from provider.facilitator.outcome import Outcome
from provider.facilitator.submission import AttemptEnd, Stopped, Submission
from provider.facilitator.verify import Verified

logger = logging.getLogger(__name__)

PASSING_CODES = ("txBAD_SEQ", "txTOO_LATE", "txTOO_EARLY")
"""Results of an ERROR that a transaction built anew may not get again."""

STALE_SECONDS = 2.0
"""A verdict older than this is given anew: an expired payment would fail on chain, at our expense."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What every settlement needs."""

    node: Node
    attempts: Attempts
    channels: Channels
    config: FacilitatorConfig
    stopping: threading.Event


class _NothingSent(Exception):
    """The settlement ends before anything was written down or sent."""


class Settlement:
    """Lease, build, write down, send, watch; and again, once the attempt before is known to be dead."""

    def __init__(self, desk: Desk, payer: str, again: Callable[[], Verified] | None = None) -> None:
        """`again` judges the payment anew, for another attempt; a resumed settlement has none."""
        self._desk, self._payer, self._again = desk, payer, again
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._attempt: Attempt | None = None
        self._abandoned = False
        self._outcome: Outcome | None = None
        self._give_up_at = time.monotonic() + desk.config.wait_seconds

    def start(self, verified: Verified, when_done: Callable[[], None]) -> None:
        self._in_thread(lambda: self._settle(verified), when_done)

    def resume(self, attempt: Attempt, when_done: Callable[[], None]) -> None:
        """Take up an attempt that was written down, and perhaps sent, in an earlier life."""
        self._attempt = attempt
        self._in_thread(lambda: self._finish(self._watch(attempt, resumed=True)), when_done)

    def wait(self, seconds: float) -> Outcome:
        """Wait for the outcome; when it takes too long, what may be out is pending and never refused."""
        self._done.wait(seconds)
        with self._lock:
            if self._outcome is not None:
                return self._outcome
            self._abandoned = True
            return self._interim()

    def _in_thread(self, work: Callable[[], Outcome], when_done: Callable[[], None]) -> None:
        def run() -> None:
            try:
                found = work()
            except (_NothingSent, Stopped, RpcError):
                found = self._interim()
            except PaymentRejected as error:
                found = self._rejected(error)
            except Exception:
                # The waiting call must get an answer; the attempt stays open for the next start.
                logger.exception("settlement.crashed", extra={"hash": self._hash})
                found = self._interim()
            with self._lock:
                self._outcome = found
            when_done()
            self._done.set()

        threading.Thread(target=run, name=f"settle {self._payer[:6]}", daemon=True).start()

    def _settle(self, verified: Verified) -> Outcome:
        for left in reversed(range(self._desk.config.max_attempts)):
            attempt = self._prepare(verified)
            decision = self._watch(attempt)
            if not left or not _may_try_again(decision):
                break
            try:
                verified = self._judge_again()
            except (PaymentRejected, RpcError):
                break
        return self._finish(decision)

    def _judge_again(self) -> Verified:
        assert self._again is not None
        if self._desk.stopping.wait(self._desk.config.poll_seconds):
            raise Stopped
        return self._again()

    def _prepare(self, verified: Verified) -> Attempt:
        """Get a channel and write the attempt down; from here on it counts as sent."""
        asked_at = time.monotonic()
        channel = self._desk.channels.lease(self._seconds_left)
        if channel is None:
            raise _NothingSent
        kept = False
        try:
            if time.monotonic() - asked_at > STALE_SECONDS:
                verified = self._judge_again()
            attempt = build_attempt(verified, channel, self._sequence(channel), self._desk.config)
            self._write_down(attempt)
            kept = True
        finally:
            if not kept:
                self._desk.channels.release(channel.address)
        return attempt

    @property
    def _seconds_left(self) -> float:
        """A call waits for the first attempt only; later ones are not bounded by its time-out."""
        if self._attempt is not None:
            return self._desk.config.wait_seconds
        return self._give_up_at - time.monotonic()

    def _sequence(self, channel: Channel) -> int:
        """The last used sequence number; a lagging node must not make us use one twice."""
        while True:
            try:
                known = self._desk.node.sequences([channel.address])[channel.address]
                return max(known, channel.sequence)
            except (RpcError, KeyError) as error:
                logger.warning("settlement.no_sequence", extra={"error": str(error)})
            if self._seconds_left <= 0 or self._desk.stopping.wait(self._desk.config.poll_seconds):
                raise _NothingSent

    def _write_down(self, attempt: Attempt) -> None:
        with self._lock:
            if self._abandoned and self._attempt is None:
                raise _NothingSent
            self._desk.attempts.add(attempt)
            self._attempt = attempt

    def _watch(self, attempt: Attempt, *, resumed: bool = False) -> AttemptEnd:
        """Follow an attempt to its end; only then its channel is free again."""
        desk = self._desk
        submission = Submission(attempt, desk.node, desk.stopping, desk.config.poll_seconds, resumed=resumed)
        decision = submission.run()
        desk.attempts.decide(attempt.hash, decision.state, decision.ledger)
        used = attempt.sequence if decision.state in (State.SETTLED, State.FAILED) else 0
        desk.channels.release(attempt.channel, used)
        logger.info("settlement.decided", extra={"hash": attempt.hash, "state": str(decision.state)})
        return decision

    def _finish(self, decision: AttemptEnd) -> Outcome:
        assert self._attempt is not None
        return conclude(self._desk.attempts.of(self._attempt.key), self._desk.node)

    def _rejected(self, error: PaymentRejected) -> Outcome:
        """It became invalid while it waited for a channel."""
        if self._attempt is not None:
            return self._interim()
        return outcome.refused(self._desk.config.network, self._payer, error.reason, error.detail)

    @property
    def _hash(self) -> str:
        return self._attempt.hash if self._attempt else ""

    def _interim(self) -> Outcome:
        network = self._desk.config.network
        if self._attempt is not None:
            message = "The transaction was sent and is not decided yet; ask again with the same payment."
            return outcome.pending(network, self._payer, self._hash, message)
        message = "No channel account was free, or the chain did not answer, in time; nothing was sent."
        return outcome.refused(network, self._payer, outcome.NO_CHANNEL, message)


def _may_try_again(decision: AttemptEnd) -> bool:
    if decision.state == State.REJECTED:
        return decision.code in PASSING_CODES
    return decision.state == State.DEAD
