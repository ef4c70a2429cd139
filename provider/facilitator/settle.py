"""`/settle`: at most one transaction in flight for a payment, however often it is called."""

import threading
import time
from functools import partial

from provider.errors import PaymentRejected, RpcError
from provider.facilitator import outcome
from provider.facilitator.attempts import Attempt, PaymentKey, State
from provider.facilitator.conclude import conclude
from provider.facilitator.outcome import Outcome
from provider.facilitator.settlement import Desk, Settlement
from provider.facilitator.verify import Verified, Verifier
from provider.payments import reasons
from provider.payments.models import PaymentIdentity, PaymentPayload, PaymentRequirements
from provider.payments.stellar.check import identify_payment

Terms = tuple[str, str]
"""Payee and amount: one nonce pays only one of them."""
Running = tuple[Terms, Settlement]


class Settlements:
    """Finds what is known of a payment, and starts a settlement when nothing is."""

    def __init__(self, desk: Desk, verifier: Verifier) -> None:
        self._desk, self._verifier = desk, verifier
        self._lock = threading.Lock()
        self._running: dict[PaymentKey, Running] = {}

    def resume(self, attempts: list[Attempt]) -> None:
        """Take up what an earlier life of this facilitator left undecided."""
        for attempt in attempts:
            settlement = Settlement(self._desk, attempt.payer)
            self._running[attempt.key] = (_terms(attempt), settlement)
            settlement.resume(attempt, partial(self._forget, attempt.key))

    def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> Outcome:
        """Settle a payment, or return the outcome of an earlier call."""
        try:
            identity = identify_payment(payload)
        except PaymentRejected as error:
            return outcome.refused(payload.accepted.network, None, error.reason, error.detail)
        terms = (requirements.pay_to, str(requirements.amount))
        found = self._known(_key(identity), terms) or self._begin(payload, requirements, identity, terms)
        return found if isinstance(found, Outcome) else found.wait(self._desk.config.wait_seconds)

    def join(self, seconds: float) -> None:
        """Wait for the settlements to notice that they are to stop."""
        give_up_at = time.monotonic() + seconds
        with self._lock:
            settlements = [settlement for _, settlement in self._running.values()]
        for settlement in settlements:
            settlement.wait(max(0.0, give_up_at - time.monotonic()))

    def _begin(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        identity: PaymentIdentity,
        terms: Terms,
    ) -> Outcome | Settlement:
        """Verify first: a payment that cannot settle must not occupy a channel."""
        again = partial(self._verifier.verify, payload, requirements)
        try:
            verified = self._judge(again)
        except PaymentRejected as error:
            return self._rejected(identity, terms, error)
        except RpcError as error:
            return self._no_answer(identity, str(error))
        return self._start(identity, terms, verified, Settlement(self._desk, identity.payer, again))

    def _start(
        self, identity: PaymentIdentity, terms: Terms, verified: Verified, settlement: Settlement
    ) -> Outcome | Settlement:
        """Start, unless another request was faster while this one was being judged."""
        key = _key(identity)
        with self._lock:
            running, attempts = self._look_up(key)
            ours = running is None and not self._is_over(attempts, terms)
            if ours:
                self._running[key] = (terms, settlement)
        if ours:
            settlement.start(verified, partial(self._forget, key))
            return settlement
        return self._answer(running, attempts, key, terms) or settlement

    def _judge(self, again: partial[Verified]) -> Verified:
        """Verify, with patience for a node that is away for a moment."""
        give_up_at = time.monotonic() + self._desk.config.wait_seconds / 3
        while True:
            try:
                return again()
            except RpcError:
                if time.monotonic() > give_up_at or self._desk.stopping.wait(self._desk.config.poll_seconds):
                    raise

    def _known(self, key: PaymentKey, terms: Terms) -> Outcome | Settlement | None:
        """What is known: a settlement on its way, or how the last one ended; None lets another one start."""
        with self._lock:
            running, attempts = self._look_up(key)
        return self._answer(running, attempts, key, terms)

    def _look_up(self, key: PaymentKey) -> tuple[Running | None, list[Attempt]]:
        return self._running.get(key), self._desk.attempts.of(key)

    def _is_over(self, attempts: list[Attempt], terms: Terms) -> bool:
        """Whether the attempts so far allow no other one on these terms."""
        if not attempts:
            return False
        spent = len(attempts) >= self._desk.config.max_attempts
        return spent or attempts[-1].state == State.SETTLED or _terms(attempts[0]) != terms

    def _answer(
        self, running: Running | None, attempts: list[Attempt], key: PaymentKey, terms: Terms
    ) -> Outcome | Settlement | None:
        if running is not None:
            return running[1] if running[0] == terms else _other_terms(key)
        if not self._is_over(attempts, terms):
            return None
        return conclude(attempts, self._desk.node) if _terms(attempts[0]) == terms else _other_terms(key)

    def _rejected(
        self, identity: PaymentIdentity, terms: Terms, error: PaymentRejected
    ) -> Outcome | Settlement:
        """Refuse, unless the payment was or may have been sent meanwhile, here or by another submitter."""
        key = _key(identity)
        known = self._known(key, terms)
        if known is not None:
            return known
        attempts = self._desk.attempts.of(key)
        if attempts:
            return conclude(attempts, self._desk.node)
        if error.reason == reasons.SIMULATION_FAILED and self._nonce_may_be_used(identity):
            message = "The authorisation is used already: somebody else may have settled this payment."
            return outcome.pending(identity.network, identity.payer, "", message)
        return outcome.refused(identity.network, identity.payer, error.reason, error.detail)

    def _nonce_may_be_used(self, identity: PaymentIdentity) -> bool:
        try:
            return self._desk.node.nonce(identity.payer, identity.nonce).exists
        except (RpcError, KeyError):
            return True

    def _no_answer(self, identity: PaymentIdentity, error: str) -> Outcome:
        attempts = self._desk.attempts.of(_key(identity))
        if attempts:
            return conclude(attempts, self._desk.node)
        message = f"The chain does not answer; nothing was sent. {error}"
        return outcome.refused(identity.network, identity.payer, outcome.UNEXPECTED, message)

    def _forget(self, key: PaymentKey) -> None:
        with self._lock:
            self._running.pop(key, None)


def _key(identity: PaymentIdentity) -> PaymentKey:
    return (identity.network, identity.asset, identity.payer, identity.nonce)


def _terms(attempt: Attempt) -> Terms:
    return (attempt.pay_to, attempt.amount)


def _other_terms(key: PaymentKey) -> Outcome:
    network, _, payer, _ = key
    message = "The nonce belongs to another transfer."
    return outcome.refused(network, payer, reasons.SIMULATION_FAILED, message)
