"""The pattern of the usual payment reads what the general decoder reads, or leaves it to it."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import Keypair, xdr

from provider.errors import PaymentRejected
from provider.payments.models import PaymentRequirements
from provider.payments.stellar import envelope
from provider.payments.stellar.envelope import PaymentEnvelope
from provider.payments.stellar.usual import match_payment
from tests.support.payments import signed_payment
from tests.unit.payments.conftest import EXPIRATION, bent, entry_of, fixture, operation_of

RECORDED = ("verify_cases.json", "js_payloads.json", "x402_v2_stellar_testnet_payment_ac5799ca.json")


def _transactions(value: Any) -> Iterator[bytes]:
    """Find every payment in a recording."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for name, child in value.items():
            if name == "transaction" and isinstance(child, str) and len(child) > 500:
                yield base64.b64decode(child)
            yield from _transactions(child)


USUAL = sorted({raw for name in RECORDED for raw in _transactions(fixture(name)) if match_payment(raw)})


def _agrees(raw: bytes) -> bool:
    """Tell whether the pattern read the bytes; fails when the general decoder reads something else."""
    decoded = PaymentEnvelope(raw) if match_payment(raw) else None
    if decoded is None:
        return False
    operation = decoded.operation()
    assert decoded.call() == envelope.read_call(envelope.contract_call(operation))
    assert decoded.authorization() == envelope.only_authorization(operation)
    return True


def test_recorded_payments_are_usual_ones() -> None:
    """Of the official client, on testnet, with and without footprints."""
    assert len(USUAL) >= 8
    assert {match["arm"][3] for raw in USUAL if (match := match_payment(raw))} >= {1, 2}
    assert all(map(_agrees, USUAL))


@pytest.mark.parametrize("arm", ["address", "address_v2"])
def test_extreme_numbers_are_read_as_they_are(offer: PaymentRequirements, payer: Keypair, arm: str) -> None:
    """Nonces are signed, expiration ledgers are not."""
    payment = signed_payment(offer, payer, 2**32 - 1, nonce=-(2**63), arm=arm)
    assert _agrees(base64.b64decode(payment.transaction))
    read = envelope.decode(payment.transaction).authorization()
    assert (read.nonce, read.expiration_ledger) == (-(2**63), 2**32 - 1)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(USUAL), st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=3))
def test_whatever_is_matched_is_read_alike(raw: bytes, changes: list[tuple[int, int]]) -> None:
    """A changed byte is read as the general decoder reads it, or not matched."""
    mutated = bytearray(raw)
    for position, value in changes:
        mutated[position % len(raw)] = value
    _agrees(bytes(mutated))


@pytest.mark.parametrize("raw", USUAL[:3])
def test_each_small_number_may_only_be_what_it_is(raw: bytes) -> None:
    """Lengths, counts, arms, flags and padding: a change is refused, or read by both alike."""
    matched = 0
    for position in range(len(raw)):
        for change in (1, 2, 4):
            matched += _agrees(raw[:position] + bytes([raw[position] ^ change]) + raw[position + 1 :])
    assert 0 < matched < 3 * len(raw)


def test_more_or_fewer_keys_than_announced_are_no_match() -> None:
    """A pattern cannot count: bytes would change sides between the two lists."""
    raw = next(raw for raw in USUAL if (match := match_payment(raw)) and match["reads"])
    found = match_payment(raw)
    assert found is not None
    at = raw.rindex(found["reads"] + found["writes_count"] + found["writes"]) - 4
    count = int.from_bytes(raw[at : at + 4], "big")
    for wrong in (count - 1, count + 1, 2**32 - 1):
        assert match_payment(raw[:at] + wrong.to_bytes(4, "big") + raw[at + 4 :]) is None


def _twice(transaction: xdr.Transaction) -> None:
    operation_of(transaction).auth.append(entry_of(transaction))


def _nested(transaction: xdr.Transaction) -> None:
    root = entry_of(transaction).root_invocation
    root.sub_invocations = [xdr.SorobanAuthorizedInvocation(root.function, [])]


def _another_call(transaction: xdr.Transaction) -> None:
    operation_of(transaction).host_function.invoke_contract.function_name.sc_symbol = b"burn"


@pytest.mark.parametrize("bend", [_twice, _nested, _another_call])
def test_what_the_rules_must_see_is_left_to_them(
    offer: PaymentRequirements, payer: Keypair, bend: Any
) -> None:
    """Each of them is refused by a rule of its own."""
    payment = bent(signed_payment(offer, payer, EXPIRATION), bend)
    assert match_payment(base64.b64decode(payment.transaction)) is None


@pytest.mark.parametrize("raw", [b"", b"\0\0\0\2", USUAL[0] + b"\0\0\0\0", USUAL[0][:-4]])
def test_too_little_or_too_much_is_no_match(raw: bytes) -> None:
    """And the general decoder refuses it."""
    assert match_payment(raw) is None
    with pytest.raises(PaymentRejected):
        PaymentEnvelope(raw)
