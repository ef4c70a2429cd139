"""The same payment again: which calls get the job that an earlier one made of it (standard J3)."""

import time
from collections.abc import Callable
from typing import Any

from provider.errors import (
    IdentifierMismatch,
    JobNotFound,
    PaymentMismatch,
    PaymentRejected,
    ServiceNotFound,
)
from provider.jobs.claim.paid_call import Caller, PaidCall
from provider.jobs.model.job import Job
from provider.jobs.store.claims import MISMATCHES_ALLOWED, Claim, ClaimKeys
from provider.jobs.store.jobs import JobStore
from provider.payments.models import PaymentPayload
from provider.payments.stellar.proof import verify_proof

DELETED = "This payment was used for a job that is deleted by now."

Value = Callable[[], dict[str, Any]]
"""Gives the input of a call, or raises InvalidBody: decoding it comes after the replay look-up (H2)."""


class Replays:
    """Gives the job of an earlier call to a call that has a right to it.

    Until a settlement begins only the buyer, the facilitator and this provider have seen the envelope. From
    then on it may be on the chain for all to read, and proves nothing.
    """

    def __init__(self, store: JobStore, claims: ClaimKeys, public_url: str) -> None:
        self._store, self._claims, self._public_url = store, claims, public_url

    def claim(self, call: PaidCall) -> Claim | None:
        """Find the earlier use of a payment. Raises IdentifierMismatch (H8)."""
        if call.identifier:
            bound = self._claims.identified(call.identity.payer, call.identifier)
            if bound not in (None, call.digest):
                raise IdentifierMismatch
        return self._claims.find(call.digest)

    def of_withdrawn(
        self,
        service_name: str,
        payload: PaymentPayload,
        value: Callable[[str], dict[str, Any]],
        caller: Caller,
    ) -> Job:
        """Return the job that this very call became while its service was sold.

        `value` gets the stored input, JSON text, to read the call by. Raises ServiceNotFound for a payment
        that no claim knows, else as `job` does.
        """
        try:
            call = PaidCall.of(service_name, payload, caller)
        except PaymentRejected:
            raise ServiceNotFound from None
        if (earlier := self.claim(call)) is None:
            raise ServiceNotFound
        stored = self._record(earlier)
        job = self.job(call, earlier, lambda: value(stored.input if stored and stored.input else "{}"))
        if job is None:
            raise ServiceNotFound
        return job

    def job(self, call: PaidCall, earlier: Claim, value: Value) -> Job | None:
        """Return the job this very call became; None when a crash came between claim and record (J7).

        Raises PaymentMismatch, in the same words for a stranger whether the rest of the call is right or not.
        """
        job = self._record(earlier)
        if not self._has_right(call, earlier, job):
            raise PaymentMismatch
        rewrapped = call.identity.envelope_digest != earlier.envelope
        if rewrapped or call.call_digest(value()) != earlier.call:
            is_public = rewrapped or (job is not None and job.may_be_public)
            if is_public and call.identity.authorization_digest == earlier.authorization:
                self._claims.count_mismatch(call.digest)
            raise PaymentMismatch
        if job is None:
            self._refuse_deleted(call)
        return job

    def _record(self, earlier: Claim) -> Job | None:
        try:
            return self._store.get(earlier.job)
        except JobNotFound:
            return None

    def _refuse_deleted(self, call: PaidCall) -> None:
        current = self._claims.find(call.digest)
        if current is None or current.gone:
            raise PaymentMismatch(DELETED)

    def _has_right(self, call: PaidCall, earlier: Claim, job: Job | None) -> bool:
        if earlier.identifier:
            return call.identifier == earlier.identifier
        if earlier.mismatches < MISMATCHES_ALLOWED:
            if job is None or not job.may_be_public:
                return True
            if self._claims.is_same_client(call.digest, earlier, call.caller.address):
                return True
        return self._is_proven(call)

    def _is_proven(self, call: PaidCall) -> bool:
        return call.caller.proof is not None and verify_proof(
            call.caller.proof,
            keys=call.signing_keys(),
            service=call.service_name,
            nonce=call.identity.nonce,
            public_url=self._public_url,
            now=time.time(),
        )
