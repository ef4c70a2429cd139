"""The words of x402 v2 (scheme `exact` on Stellar) as frozen records.

Field names follow x402; the wire spelling (camelCase, amounts as digit strings) is in `schemas`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

X402_VERSION = 2
SCHEME = "exact"


@dataclass(frozen=True, slots=True)
class PaymentRequirements:
    """One offer of a 402 answer: what has to be paid, to whom, within what time."""

    network: str
    """CAIP-2 id, `stellar:pubnet` or `stellar:testnet`."""
    asset: str
    """Contract id (C…) of the token."""
    amount: int
    """Price in atomic units of the token (USDC: 10⁻⁷)."""
    pay_to: str
    max_timeout_seconds: int
    extra: Mapping[str, Any] = field(default_factory=dict)
    scheme: str = SCHEME


@dataclass(frozen=True, slots=True)
class PaymentPayload:
    """What a buyer sends: the accepted offer and a transaction with the signed transfer."""

    accepted: PaymentRequirements
    transaction: str
    """Base64 of the XDR `TransactionEnvelope`, as the buyer spelled it."""
    resource: Mapping[str, Any] | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)
    x402_version: int = X402_VERSION
    wire: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """The JSON object as it was received, unknown fields included: what a facilitator is shown."""


@dataclass(frozen=True, slots=True)
class PaymentChallenge:
    """A 402 answer as its buyer reads it."""

    accepts: tuple[PaymentRequirements, ...]
    resource: Mapping[str, Any] | None = None
    error: str | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PaymentIdentity:
    """Which payment this is, decoded but not judged: the claim key (standard J2) and the envelope (J3)."""

    network: str
    asset: str
    payer: str
    nonce: int
    envelope_digest: str
    authorization_digest: str
    """Equal for every envelope that carries this signed authorisation."""


@dataclass(frozen=True, slots=True)
class CheckedPayment:
    """A payment that passed the offline check (standard §4)."""

    network: str
    asset: str
    payer: str
    pay_to: str
    amount: int
    nonce: int
    """Signed 64-bit; unique per payer until the authorisation expires."""
    expiration_ledger: int
    """Last ledger in which the transfer may be applied."""
    credentials: str
    """`address`, `address_v2` or `address_with_delegates`."""
    signature_checked: bool
    """False for contract payers, whose signature only simulation can judge."""
    envelope_digest: str
    """SHA-256 (hex) of the decoded envelope: equal only for byte-equal envelopes."""


@dataclass(frozen=True, slots=True)
class VerifyResponse:
    """What a facilitator's `/verify` said."""

    valid: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SettlementResponse:
    """The content of a PAYMENT-RESPONSE header, as its buyer reads it."""

    success: bool
    network: str
    transaction: str = ""
    payer: str | None = None
    amount: int | None = None
    error_reason: str | None = None
    error_message: str | None = None
    extensions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a settled payment, as shown to the buyer."""

    network: str
    transaction: str
    """Hash of the transaction on chain, 64 hex digits."""
    payer: str
    amount: int
    asset: str
    ledger: int | None = None


def claim_digest(network: str, asset: str, payer: str, nonce: int) -> str:
    """Return the claim key of a payment (standard J2): SHA-256 (hex) of its parts joined by newlines."""
    return hashlib.sha256(f"{network}\n{asset}\n{payer}\n{nonce}".encode()).hexdigest()
