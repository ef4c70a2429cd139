"""Why a payment is refused, in x402's own words.

Names and meaning follow `@x402/stellar` 2.9.0; those marked *ours* have no official counterpart, because only
a seller can find the fault.
"""

import re
from typing import Final

_WORD = re.compile(r"[A-Za-z0-9_.:-]{1,100}")

INVALID_X402_VERSION: Final = "invalid_x402_version"
UNSUPPORTED_SCHEME: Final = "unsupported_scheme"
INVALID_NETWORK: Final = "invalid_network"
NETWORK_MISMATCH: Final = "network_mismatch"
INVALID_PAYMENT_REQUIREMENTS: Final = "invalid_payment_requirements"
"""`accepted` is not an offer of this service."""

_PAYLOAD = "invalid_exact_stellar_payload_"
MALFORMED: Final = _PAYLOAD + "malformed"
WRONG_OPERATION: Final = _PAYLOAD + "wrong_operation"
UNSAFE_SOURCE: Final = _PAYLOAD + "unsafe_tx_or_op_source"
WRONG_ASSET: Final = _PAYLOAD + "wrong_asset"
WRONG_FUNCTION_NAME: Final = _PAYLOAD + "wrong_function_name"
FACILITATOR_IS_PAYER: Final = _PAYLOAD + "facilitator_is_payer"
WRONG_RECIPIENT: Final = _PAYLOAD + "wrong_recipient"
WRONG_AMOUNT: Final = _PAYLOAD + "wrong_amount"
SIMULATION_FAILED: Final = _PAYLOAD + "simulation_failed"
"""The chain would refuse it: expired, unsigned, wrongly signed, or signed for another call."""
NO_AUTH_ENTRIES: Final = _PAYLOAD + "no_auth_entries"
UNSUPPORTED_CREDENTIAL_TYPE: Final = _PAYLOAD + "unsupported_credential_type"
FACILITATOR_IN_AUTH: Final = _PAYLOAD + "facilitator_in_auth"
HAS_SUBINVOCATIONS: Final = _PAYLOAD + "has_subinvocations"
MISSING_PAYER_SIGNATURE: Final = _PAYLOAD + "missing_payer_signature"
UNEXPECTED_PENDING_SIGNATURES: Final = _PAYLOAD + "unexpected_pending_signatures"

EXPIRATION_TOO_FAR: Final = "invalid_exact_stellar_signature_expiration_too_far"
EXPIRATION_TOO_SOON: Final = "invalid_exact_stellar_signature_expiration_too_soon"
"""Ours: still valid, but it expires before this service could work and settle."""

UNEXPECTED_VERIFY_ERROR: Final = "unexpected_verify_error"
"""The facilitator failed; it says nothing about the payment."""

INSUFFICIENT_FUNDS: Final = "insufficient_funds"

BY_THE_PAYER: Final = frozenset({SIMULATION_FAILED, INSUFFICIENT_FUNDS, _PAYLOAD + "no_transfer_events"})
"""Why a payment that was verified is refused later: the payer spent or revoked what it pays with."""

REFUSED_BEFORE_SUBMISSION: Final = frozenset(
    {
        INVALID_X402_VERSION,
        UNSUPPORTED_SCHEME,
        INVALID_NETWORK,
        NETWORK_MISMATCH,
        INVALID_PAYMENT_REQUIREMENTS,
        MALFORMED,
        WRONG_OPERATION,
        UNSAFE_SOURCE,
        WRONG_ASSET,
        WRONG_FUNCTION_NAME,
        FACILITATOR_IS_PAYER,
        WRONG_RECIPIENT,
        WRONG_AMOUNT,
        SIMULATION_FAILED,
        NO_AUTH_ENTRIES,
        UNSUPPORTED_CREDENTIAL_TYPE,
        FACILITATOR_IN_AUTH,
        HAS_SUBINVOCATIONS,
        MISSING_PAYER_SIGNATURE,
        UNEXPECTED_PENDING_SIGNATURES,
        EXPIRATION_TOO_FAR,
        EXPIRATION_TOO_SOON,
        _PAYLOAD + "fee_below_minimum",
        _PAYLOAD + "fee_exceeds_maximum",
        _PAYLOAD + "no_transfer_events",
        _PAYLOAD + "multiple_transfers",
        _PAYLOAD + "event_not_transfer",
        _PAYLOAD + "event_missing_contract_id",
        _PAYLOAD + "event_wrong_asset",
        _PAYLOAD + "event_wrong_from",
        _PAYLOAD + "event_wrong_to",
        _PAYLOAD + "event_wrong_amount",
        "invalid_payload",
        "invalid_scheme",
        "unsupported_network",
        "unsupported_version",
        "unsupported_payload_type",
        "unsupported_asset_transfer_method",
        "unsupported_payment_flow",
        INSUFFICIENT_FUNDS,
    }
)
"""The closed list of standard §8: each is given before anything is submitted. `invalid_transaction_state` is
missing on purpose: x402 gives it for a transaction that failed on chain."""


def as_word(value: object) -> str | None:
    """Return what a facilitator wrote if it is one word, as x402's reasons are; others are not for buyers."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else None
