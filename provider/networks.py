"""The Stellar networks x402 names: passphrases, USDC, explorers, and the ids of accounts and contracts."""

import base64
import binascii
import hashlib
from decimal import Decimal

TESTNET = "stellar:testnet"
PUBNET = "stellar:pubnet"

PASSPHRASES = {
    PUBNET: "Public Global Stellar Network ; September 2015",
    TESTNET: "Test SDF Network ; September 2015",
}

NETWORK_IDS = {name: hashlib.sha256(passphrase.encode()).digest() for name, passphrase in PASSPHRASES.items()}
"""What a signature is made for: the hash of the passphrase."""

USDC = {
    PUBNET: "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75",
    TESTNET: "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
}
"""Contract ids of Circle's USDC (Stellar asset contract of the classic asset)."""

TOKEN_DECIMALS = 7
"""Decimal places of USDC, as of every classic asset."""

EXPLORERS = {
    PUBNET: "https://stellar.expert/explorer/public/tx/{transaction}",
    TESTNET: "https://stellar.expert/explorer/testnet/tx/{transaction}",
}

_ACCOUNT, _CONTRACT = 6 << 3, 2 << 3
"""Version bytes of StrKey (SEP-23), which make the first letter a G or a C."""
_ID_CHARS, _ID_BYTES = 56, 35


def is_account(text: str) -> bool:
    """Check the id of an account (G…), checksum included."""
    return _is_strkey(text, _ACCOUNT)


def is_contract(text: str) -> bool:
    """Check the id of a contract (C…), checksum included."""
    return _is_strkey(text, _CONTRACT)


def token_units(amount: int) -> str:
    """Write an atomic amount in token units, without exponent and trailing zeros."""
    return f"{Decimal(amount).scaleb(-TOKEN_DECIMALS).normalize():f}"


def _is_strkey(text: str, version: int) -> bool:
    """Decode SEP-23: base32 of a version byte, 32 bytes and their CRC-16/XMODEM, low byte first."""
    if len(text) != _ID_CHARS:
        return False
    try:
        raw = base64.b32decode(text)
    except ValueError:  # Also what has other letters, or padding in its middle.
        return False
    body, checksum = raw[:-2], raw[-2:]
    expected = binascii.crc_hqx(body, 0).to_bytes(2, "little")
    return len(raw) == _ID_BYTES and body[0] == version and checksum == expected
