"""A paid call on its way to a job: its claim, and the draft of its record."""

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from provider import strict_json
from provider.jobs.model.job import Draft, Terms
from provider.jobs.model.status import Status
from provider.jobs.store.claims import Claim
from provider.payments.identifier import read_identifier
from provider.payments.models import (
    CheckedPayment,
    PaymentIdentity,
    PaymentPayload,
    PaymentRequirements,
    claim_digest,
)
from provider.payments.schemas import dump_payload, dump_requirements
from provider.payments.stellar.check import identify_payment, payment_signers
from provider.services import Service
from provider.settings import Settings


@dataclass(frozen=True, slots=True)
class Caller:
    """What a call shows of its sender beside the payment (J3)."""

    proof: str | None = None
    """The header PAYER-PROOF."""
    address: str = ""
    """Of the client, as far as it is known to be its own."""


UNKNOWN = Caller()


@dataclass(frozen=True, slots=True)
class PaidCall:
    """A paid call on its way to a job."""

    service_name: str
    payload: PaymentPayload
    identity: PaymentIdentity
    digest: str
    """The claim key: digest of (network, asset, payer, nonce)."""
    identifier: str | None
    caller: Caller

    @classmethod
    def of(cls, service_name: str, payload: PaymentPayload, caller: Caller) -> "PaidCall":
        """Read the identity of a payment. Raises PaymentRejected for what cannot be identified."""
        identity = identify_payment(payload)
        digest = claim_digest(identity.network, identity.asset, identity.payer, identity.nonce)
        return cls(service_name, payload, identity, digest, read_identifier(payload), caller)

    def call_digest(self, value: Any) -> str:
        """Digest service and input, so that the same payment with another input is seen (J3)."""
        text = json.dumps([self.service_name, value], sort_keys=True, separators=(",", ":"))
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def claim(self, job_id: str, value: Any) -> Claim:
        """Give the claim that this call makes for a job."""
        identity = self.identity
        return Claim(
            job_id,
            self.call_digest(value),
            identity.envelope_digest,
            identity.authorization_digest,
            self.identifier,
        )

    def signing_keys(self) -> list[str]:
        """Return the keys that signed the payment, as accounts: each may prove that it asks again."""
        return payment_signers(self.payload)


def draft_of(
    call: PaidCall,
    service: Service,
    value: dict[str, Any],
    offer: PaymentRequirements,
    checked: CheckedPayment,
    *,
    claim_ledger: int | None,
    valid_seconds: float,
    window_seconds: float,
    settings: Settings,
) -> Draft:
    """Write down the job of a payment that was checked against an offer."""
    window = max(0.001, window_seconds)
    status = Status.PENDING if service.charge.pays_first else Status.QUEUED
    wire = [dump_payload(call.payload), dump_requirements(offer)]
    return Draft(
        status=status,
        terms=Terms(
            charge=service.charge,
            network=checked.network,
            asset=checked.asset,
            payer=checked.payer,
            pay_to=checked.pay_to,
            amount=checked.amount,
            nonce=checked.nonce,
            expiration_ledger=checked.expiration_ledger,
            claim_ledger=claim_ledger,
            max_timeout_seconds=service.max_timeout_seconds,
        ),
        input=strict_json.dumps(value),
        payment=strict_json.dumps(wire),
        window_seconds=window,
        expires_seconds=max(service.max_timeout_seconds, valid_seconds) + settings.orphan_margin_seconds,
        look_seconds=settings.sweep_seconds if status is Status.PENDING else window,
    )
