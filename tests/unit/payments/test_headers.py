"""The payment headers: what is read, what is refused, what is written."""

import base64
import json
from typing import Any

import pytest

from provider import errors
from provider.payments import headers
from provider.payments.models import PaymentPayload
from provider.payments.schemas import dump_payload, payment_required
from tests.unit.payments.conftest import fixture

HEADER = fixture("x402_v2_stellar_testnet_payment_ac5799ca.json")["PAYMENT_SIGNATURE_header"]
TEXT = base64.b64decode(HEADER)


def _header(text: str | bytes) -> str:
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


SPELLINGS = {
    "standard": HEADER,
    "unpadded": HEADER.rstrip("="),
    "url-safe": base64.urlsafe_b64encode(TEXT).decode(),
    "url-safe, unpadded": base64.urlsafe_b64encode(TEXT).decode().rstrip("="),
    "spaces around": f" {HEADER}\t",
    "other key order": _header(json.dumps(dict(reversed(json.loads(TEXT).items())))),
    "escaped and indented": _header(json.dumps(json.loads(TEXT), ensure_ascii=True, indent=2)),
}


@pytest.mark.parametrize("header", SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_is_the_same_payment(header: str) -> None:
    """Buyers encode as they like."""
    assert headers.decode_payment_signature(header) == headers.decode_payment_signature(HEADER)


def test_url_safe_characters_are_read() -> None:
    """The real header has none of them, so one that does."""
    text = json.dumps({"a": "¿¿¿>>>~~~???"}, ensure_ascii=False).encode()
    url_safe = base64.urlsafe_b64encode(text).decode()
    assert set("-_") & set(url_safe)
    assert headers.decode_object(url_safe) == json.loads(text)


REFUSED = {
    "empty": "",
    "only padding": "==",
    "not base64": "{}",
    "line breaks inside": HEADER[:20] + "\n" * 4 + HEADER[20:],
    "too much padding": HEADER.rstrip("=") + "===",
    "padding inside": HEADER[:8] + "=" + HEADER[8:],
    "a length that no base64 has": "AAAAA",
    "not UTF-8": _header(b"\xff\xfe{}"),
    "not JSON": _header("transfer!"),
    "truncated": _header(TEXT[:-1]),
    "trailing": _header(TEXT + b"{}"),
    "a list": _header("[]"),
    "a string": _header('"{}"'),
    "null": _header("null"),
    "NaN": _header('{"a": NaN}'),
    "Infinity": _header('{"a": -Infinity}'),
    "an infinite number": _header('{"a": 1e999}'),
    "an endless number": _header('{"a": ' + "1" * 5000 + "}"),
    "the same key twice": _header('{"x402Version": 2, "x402Version": 1}'),
    "the same key twice, deep": _header('{"a": [{"b": 1, "b": 1}]}'),
    "half a surrogate": _header('{"a": "\\ud800"}'),
    "65 levels": _header('{"a":' + "[" * 64 + "]" * 64 + "}"),
    "very deep": _header('{"a":' + "[" * 6000 + "]" * 6000 + "}"),
    "over 16 KB": _header(json.dumps({"a": "x" * 16_000})),
}


@pytest.mark.parametrize("header", REFUSED.values(), ids=REFUSED)
def test_anything_else_is_a_400_that_says_what_to_do(header: str) -> None:
    """Never an exception of a library (standard H2)."""
    with pytest.raises(errors.InvalidHeader, match=r"header") as refusal:
        headers.decode_payment_signature(header)
    assert refusal.value.status == 400


def test_64_levels_are_read() -> None:
    """The limit of H9, to the level; brackets in strings are none."""
    deep = '{"a":' + "[" * 63 + "]" * 63 + ', "b": "' + "[" * 100 + '"}'
    assert headers.decode_object(_header(deep))["b"] == "[" * 100


def test_each_field_that_does_not_fit_is_named() -> None:
    """So that a buyer can mend all of them at once."""
    wrong: dict[str, Any] = {
        "x402Version": "2",
        "accepted": {"scheme": "exact", "amount": 5, "maxTimeoutSeconds": True},
        "payload": {"transaction": 7},
    }
    with pytest.raises(errors.InvalidHeader) as refusal:
        headers.decode_payment_signature(_header(json.dumps(wrong)))
    assert set(refusal.value.fields["errors"]) == {
        "x402Version",
        "accepted.network",
        "accepted.amount",
        "accepted.asset",
        "accepted.payTo",
        "accepted.maxTimeoutSeconds",
        "payload.transaction",
    }
    assert all(name in str(refusal.value) for name in refusal.value.fields["errors"])


def test_a_challenge_is_base64_of_compact_utf8_json() -> None:
    """As the reference clients read it."""
    body = payment_required(url="https://p.example/run/ä", description="Größe", accepts=[])
    text = base64.b64decode(headers.encode_payment_required(body))
    assert json.loads(text) == body
    assert "Größe".encode() in text
    assert b": " not in text


def test_a_challenge_over_8_kb_is_an_error_that_says_so() -> None:
    """Proxies cut such headers off; 8192 characters are the last that fit."""
    fits = {"a": "x" * (6144 - 8)}
    assert len(headers.encode_payment_required(fits)) == 8192
    with pytest.raises(errors.HeaderTooLarge, match="8192"):
        headers.encode_payment_required({"a": "x" * (6144 - 7)})


def test_a_payload_survives_the_way_through_a_header(payment: PaymentPayload) -> None:
    """What a buyer encodes, a seller decodes."""
    header = headers.encode_payment_signature(dump_payload(payment))
    assert headers.decode_payment_signature(header) == payment
