"""PAYER-PROOF (standard J3)."""

import base64
from typing import Any

import pytest
from stellar_sdk import Keypair

from provider.payments.stellar.proof import make_proof, verify_proof

NOW = 1_800_000_000.7
CLAIM: dict[str, Any] = {"service": "resize", "nonce": -42, "public_url": "https://p.example/"}


@pytest.fixture
def header(payer: Keypair) -> str:
    return make_proof(payer, **CLAIM, now=NOW)


def test_the_payer_proves_himself(header: str, payer: Keypair) -> None:
    """A slash at the end of the URL does not count."""
    assert verify_proof(header, keys=[payer.public_key], **CLAIM, now=NOW)
    assert verify_proof(
        header, keys=[payer.public_key], **CLAIM | {"public_url": "https://p.example"}, now=NOW
    )


def test_the_message_is_the_documented_one(payer: Keypair) -> None:
    """Anybody with SEP-53 can make the header."""
    message = "provider payer proof v1\nservice: resize\nnonce: -42\nurl: https://p.example\ntime: 1800000000"
    by_hand = f"t=1800000000,s={base64.b64encode(payer.sign_message(message)).decode()}"
    assert make_proof(payer, **CLAIM, now=NOW) == by_hand


OTHER_CLAIMS = [{"service": "other"}, {"nonce": 42}, {"public_url": "https://q.example"}]


@pytest.mark.parametrize("change", OTHER_CLAIMS)
def test_a_proof_is_for_one_claim(header: str, payer: Keypair, change: dict[str, Any]) -> None:
    """It cannot be shown elsewhere."""
    assert not verify_proof(header, keys=[payer.public_key], **CLAIM | change, now=NOW)


@pytest.mark.parametrize(("later", "counts"), [(299, True), (-299, True), (302, False), (-302, False)])
def test_a_proof_counts_for_five_minutes(header: str, payer: Keypair, later: float, counts: bool) -> None:
    """Around its time, since clocks differ."""
    assert verify_proof(header, keys=[payer.public_key], **CLAIM, now=NOW + later) is counts


def test_the_time_is_signed(header: str, payer: Keypair) -> None:
    """A stale proof cannot be made fresh."""
    fresh = header.replace("t=1800000000", "t=1800000900")
    assert not verify_proof(fresh, keys=[payer.public_key], **CLAIM, now=NOW + 900)


def test_a_stranger_proves_nothing(payer: Keypair, stranger: Keypair) -> None:
    """Nor does anything for what is no key."""
    header = make_proof(stranger, **CLAIM, now=NOW)
    contract = "CAAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQC526"
    for claimed in (payer.public_key, contract, "", "G"):
        assert not verify_proof(header, keys=[claimed], **CLAIM, now=NOW)


@pytest.mark.parametrize(
    "header", ["", "t=,s=", "t=1800000000", "t=1800000000,s=AA==", "x" * 9000, "t=٣,s=" + "A" * 86 + "=="]
)
def test_garbage_proves_nothing(header: str, payer: Keypair) -> None:
    """And never raises."""
    assert not verify_proof(header, keys=[payer.public_key], **CLAIM, now=NOW)
