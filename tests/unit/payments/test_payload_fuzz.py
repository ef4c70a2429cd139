"""Whatever a stranger sends, the answer is a refusal, not a crash."""

import base64
import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provider.errors import InvalidHeader, PaymentRejected
from provider.payments import headers
from provider.payments.models import PaymentPayload
from provider.payments.schemas import load_payload, load_requirements
from provider.payments.stellar.check import check_payment, identify_payment
from provider.payments.stellar.describe import FIELDS, describe_payload
from tests.unit.payments.conftest import fixture

VALID = fixture("verify_cases.json")["cases"][0]["paymentPayload"]
OFFER = load_requirements(VALID["accepted"])
RAW = base64.b64decode(VALID["payload"]["transaction"])
RAW_V2 = base64.b64decode(
    fixture("verify_cases.json")["cases"][12]["paymentPayload"]["payload"]["transaction"]
)


def _judge(raw: bytes) -> PaymentPayload:
    """Check, identify and describe; anything but a refusal fails the test."""
    transaction = base64.b64encode(raw).decode()
    payload = load_payload(VALID | {"payload": {"transaction": transaction}})
    with suppress(PaymentRejected):
        check_payment(payload, [OFFER], latest_ledger=1_000_019)
    with suppress(PaymentRejected):
        identify_payment(payload)
    assert set(describe_payload(payload)) == set(FIELDS)
    return payload


@given(st.binary(max_size=400))
def test_random_bytes_are_refused(raw: bytes) -> None:
    """Also behind the four bytes of a v1 envelope."""
    _judge(raw)
    _judge(b"\0\0\0\2" + raw)


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from([RAW, RAW_V2]),
    st.lists(st.tuples(st.integers(0, len(RAW) - 1), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_mutated_payments_are_judged_without_a_crash(raw: bytes, changes: list[tuple[int, int]]) -> None:
    """Some bytes of a valid payment changed: lengths, union arms, addresses, signatures."""
    mutated = bytearray(raw)
    for position, value in changes:
        mutated[position] = value
    _judge(bytes(mutated))


@settings(deadline=None)
@given(st.integers(0, len(RAW)), st.integers(0, len(RAW)), st.binary(max_size=40))
def test_cut_and_spliced_payments_are_judged_without_a_crash(start: int, end: int, middle: bytes) -> None:
    """Bytes removed, repeated or inserted."""
    _judge(RAW[:start] + middle + RAW[end:])


def test_every_single_byte_matters_or_is_not_signed() -> None:
    """No byte of the transfer, the authorisation or the signature may change without a refusal."""
    begin, end = RAW.index(b"transfer") - 40, RAW.rindex(b"transfer") + 140
    for position in range(begin, end):
        mutated = bytearray(RAW)
        mutated[position] ^= 0x41
        payload = load_payload(VALID | {"payload": {"transaction": base64.b64encode(mutated).decode()}})
        with pytest.raises(PaymentRejected):
            check_payment(payload, [OFFER], latest_ledger=1_000_019)


@given(st.text(max_size=200))
def test_random_headers_are_refused(header: str) -> None:
    """As they are, and as base64."""
    for spelled in (header, base64.b64encode(header.encode("utf-8", "surrogatepass")).decode()):
        with pytest.raises(InvalidHeader):
            headers.decode_payment_signature(spelled)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.sampled_from(["x402Version", "accepted", "payload", "resource", "extensions"]), _JSON)
def test_payloads_with_a_random_part_are_refused_or_read(part: str, value: Any) -> None:
    """Every field replaced by any JSON."""
    header = base64.b64encode(json.dumps(VALID | {part: value}).encode()).decode()
    with suppress(InvalidHeader, PaymentRejected):
        check_payment(headers.decode_payment_signature(header), [OFFER], latest_ledger=1_000_019)


HOSTILE = {
    "a long vector": RAW[:60] + (b"\0\0\0\x10\0\0\0\1" + (3000).to_bytes(4, "big")) + b"\0\0\0\1" * 3000,
    "many operations": RAW[:66] + (100).to_bytes(4, "big") + b"\0\0\0\0\0\0\0\x0b" * 1400,
    "a claimed length of 4 GB": RAW[:66] + b"\xff\xff\xff\xff" + RAW[70:],
    "deep nesting": RAW[:180] + b"\0\0\0\x10\0\0\0\1\0\0\0\1" * 1000,
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_hostile_xdr_within_the_cap_is_refused_quickly(raw: bytes) -> None:
    """The size cap comes before decoding, so nothing keeps the decoder busy."""
    began = time.perf_counter()
    _judge(raw)
    assert time.perf_counter() - began < 2
