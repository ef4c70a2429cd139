"""The three payment headers: base64 of compact UTF-8 JSON."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from provider import errors, strict_json
from provider.payments.models import PaymentPayload
from provider.payments.schemas import load_payload

PAYMENT_REQUIRED = "PAYMENT-REQUIRED"
PAYMENT_SIGNATURE = "PAYMENT-SIGNATURE"
PAYMENT_RESPONSE = "PAYMENT-RESPONSE"

MAX_SIGNATURE_CHARS = 16 * 1024
MAX_ANSWER_CHARS = 8 * 1024

_TO_STANDARD = str.maketrans("-_", "+/")


def decode_payment_signature(header: str) -> PaymentPayload:
    """Read a PAYMENT-SIGNATURE header (standard H2); raises `errors.InvalidHeader` saying what to do."""
    return load_payload(decode_object(header))


def read_payment(value: Any) -> PaymentPayload:
    """Read a payment that came beside a message: an object, its JSON text, or base64 of that."""
    text = value if isinstance(value, str) else strict_json.dumps(value)
    if not text.lstrip().startswith("{"):
        return decode_payment_signature(text)
    if len(text) > MAX_SIGNATURE_CHARS:
        raise errors.InvalidHeader(f"The payment has more than {MAX_SIGNATURE_CHARS} characters; shorten it.")
    try:
        return load_payload(strict_json.parse_object(text))
    except ValueError as problem:
        raise errors.InvalidHeader(f"The payment is not a JSON object: {problem}.") from None


def decode_object(
    header: str, *, max_chars: int = MAX_SIGNATURE_CHARS, max_depth: int = strict_json.MAX_DEPTH
) -> dict[str, Any]:
    """Decode base64 (standard or url-safe, padded or not) of a JSON object.

    Raises:
        errors.InvalidHeader: if the header is anything else.
    """
    if len(header) > max_chars:
        raise errors.InvalidHeader(f"The payment header has more than {max_chars} characters; shorten it.")
    try:
        return strict_json.parse_object(_decode_base64(header.strip()).decode("utf-8"), max_depth=max_depth)
    except UnicodeDecodeError:
        raise errors.InvalidHeader("The payment header is not base64 of UTF-8; encode JSON.") from None
    except binascii.Error:
        raise errors.InvalidHeader(
            "The payment header is not base64; send base64 of the JSON payment payload."
        ) from None
    except ValueError as problem:
        raise errors.InvalidHeader(
            f"The payment header is not base64 of a JSON object: {problem}; send the x402 v2 PaymentPayload."
        ) from None


def encode_payment_required(body: Mapping[str, Any]) -> str:
    """Encode a 402 body; raises `errors.HeaderTooLarge` past 8 KB, where proxies cut headers off (H1)."""
    return _encode(body, PAYMENT_REQUIRED)


def encode_payment_response(body: Mapping[str, Any]) -> str:
    """Encode a `SettlementResponse` (standard H5)."""
    return _encode(body, PAYMENT_RESPONSE)


def encode_payment_signature(body: Mapping[str, Any]) -> str:
    """Encode a payment payload, as a buyer does."""
    return _encode(body, PAYMENT_SIGNATURE, MAX_SIGNATURE_CHARS)


def _encode(body: Mapping[str, Any], name: str, max_chars: int = MAX_ANSWER_CHARS) -> str:
    header = base64.b64encode(strict_json.compact(body)).decode("ascii")
    if len(header) > max_chars:
        raise errors.HeaderTooLarge(
            f"The {name} header would have {len(header)} characters, at most {max_chars} are safe; "
            "shorten the service's description, schemas and examples."
        )
    return header


def _decode_base64(text: str) -> bytes:
    """Decode strictly: Python's own decoder skips characters outside the alphabet."""
    body = text.rstrip("=")
    standard = body.translate(_TO_STANDARD)
    if len(text) - len(body) > 2:
        raise binascii.Error("too much padding")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
