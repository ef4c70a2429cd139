"""Ids and amounts of Stellar, without the SDK."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stellar_sdk import Keypair, StrKey

from provider.networks import PUBNET, TESTNET, USDC, is_account, is_contract, token_units

ACCOUNT = Keypair.from_raw_ed25519_public_key(bytes(range(32))).public_key
CONTRACT = USDC[TESTNET]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def test_accounts_and_contracts_are_told_apart() -> None:
    """By the version byte that makes their first letter."""
    assert (is_account(ACCOUNT), is_contract(ACCOUNT)) == (True, False)
    assert [is_contract(token) for token in USDC.values()] == [True, True]
    assert not is_account(USDC[PUBNET])


@given(st.binary(min_size=32, max_size=32))
def test_every_id_that_the_sdk_writes_is_one(key: bytes) -> None:
    """The SDK is the reference for what the checksum is."""
    assert is_account(StrKey.encode_ed25519_public_key(key))
    assert is_contract(StrKey.encode_contract(key))


@given(st.integers(0, 55), st.sampled_from(LETTERS + LETTERS.lower() + "=018 é"))
def test_an_id_with_another_letter_is_none(place: int, letter: str) -> None:
    """As the SDK says."""
    changed = ACCOUNT[:place] + letter + ACCOUNT[place + 1 :]
    assert is_account(changed) == StrKey.is_valid_ed25519_public_key(changed) == (changed == ACCOUNT)


@pytest.mark.parametrize(
    "text", ["", ACCOUNT[:-1], ACCOUNT + "A", f" {ACCOUNT[1:]}", ACCOUNT.lower(), "G" * 56]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    """Too short, too long, other letters, no checksum."""
    assert not is_account(text)


def test_the_seed_of_an_account_is_no_account() -> None:
    """It has the same length and a checksum of the same kind."""
    assert not is_account(Keypair.random().secret)


@pytest.mark.parametrize(
    ("amount", "units"),
    [
        (0, "0"),
        (1, "0.0000001"),
        (2_550_000, "0.255"),
        (50_000_000, "5"),
        (10**9, "100"),
        (10**38, "1" + "0" * 31),
    ],
)
def test_amounts_are_written_without_exponents_and_trailing_zeros(amount: int, units: str) -> None:
    """Red for the last one: what an x402 offer may hold is too long for a quantized Decimal."""
    assert token_units(amount) == units
