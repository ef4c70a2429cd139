"""Check the signatures of an authorisation entry, as far as that can be done offline.

What the chain's built-in account contract wants from a G account (CAP-46-11): a vector of
`{public_key, signature}` maps, sorted by key without repeats, each signature valid for its key. Whether the
keys are signers of the account, and weigh enough, only the ledger knows.
"""

import hashlib
import struct

from stellar_sdk import Keypair, StrKey, xdr
from stellar_sdk.exceptions import BadSignatureError

from provider.errors import PaymentRejected
from provider.networks import NETWORK_IDS
from provider.payments import reasons
from provider.payments.stellar.signed import Authorization
from provider.payments.stellar.usual import ONE_SIGNATURE

_MAX_SIGNATURES = 20
_MAX_WALLET_KEYS = 4
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64
_VOID = xdr.SCVal(xdr.SCValType.SCV_VOID).to_xdr_bytes()
_PUBLIC_KEY, _SIGNATURE = b"public_key", b"signature"


def check_signature(authorization: Authorization, network: str) -> bool:
    """Refuse signatures that the chain would refuse.

    Returns whether the payer's own key signed. False leaves the decision to simulation: contract payers (the
    contract decides), accounts that sign with other keys than their own, delegates (CAP-71).

    Raises:
        PaymentRejected: unsigned, or a signature does not fit its key.
    """
    unsigned = authorization.raw_signature == _VOID
    if unsigned and authorization.credentials == "address_with_delegates":
        return False
    if authorization.address.startswith("C"):
        if unsigned:
            raise PaymentRejected(reasons.MISSING_PAYER_SIGNATURE, "The authorisation is not signed.")
        return False
    own_key = authorization.raw_address[-32:]
    signatures = _signatures(authorization.raw_signature)
    return _own_key_signed(own_key, signatures, preimage_hash(authorization, network))


def signing_keys(authorization: Authorization, network: str) -> list[str]:
    """Return the accounts (G…) of the ed25519 keys that signed an authorisation.

    What a contract's signature means only the contract knows. A public key in it, with a signature in it that
    the key made of this very authorisation, is a signer's. Wallets that sign something else have none here.
    """
    message = preimage_hash(authorization, network)
    keys, signatures = _byte_strings(xdr.SCVal.from_xdr_bytes(authorization.raw_signature))
    return [
        StrKey.encode_ed25519_public_key(key)
        for key in keys
        if any(_fits(key, signature, message) for signature in signatures)
    ]


def _byte_strings(value: xdr.SCVal) -> tuple[list[bytes], list[bytes]]:
    """Collect what may be public keys and what may be signatures, the first few of each."""
    found: dict[int, list[bytes]] = {_KEY_BYTES: [], _SIGNATURE_BYTES: []}
    left = [value]
    while left:
        item = left.pop()
        left += item.vec.sc_vec if item.vec is not None else []
        for entry in item.map.sc_map if item.map is not None else []:
            left += [entry.key, entry.val]
        if item.bytes is not None and len(raw := item.bytes.sc_bytes) in found:
            found[len(raw)].append(raw)
    return found[_KEY_BYTES][:_MAX_WALLET_KEYS], found[_SIGNATURE_BYTES][:_MAX_WALLET_KEYS]


def _fits(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Keypair.from_raw_ed25519_public_key(key).verify(message, signature)
    except (BadSignatureError, ValueError):
        return False
    return True


def preimage_hash(authorization: Authorization, network: str) -> bytes:
    """Hash what was signed; the arms after `address` bind the address as well (CAP-71)."""
    bound = authorization.credentials != "address"
    kind = xdr.EnvelopeType.ENVELOPE_TYPE_SOROBAN_AUTHORIZATION
    if bound:
        kind = xdr.EnvelopeType.ENVELOPE_TYPE_SOROBAN_AUTHORIZATION_WITH_ADDRESS
    head = struct.pack(
        ">i32sqI", kind, NETWORK_IDS[network], authorization.nonce, authorization.expiration_ledger
    )
    address = authorization.raw_address if bound else b""
    return hashlib.sha256(head + address + authorization.raw_invocation).digest()


def _own_key_signed(own_key: bytes, signatures: list[tuple[bytes, bytes]], message: bytes) -> bool:
    if not all(_fits(key, signature, message) for key, signature in signatures):
        raise _refused("A signature does not fit what it is for.")
    return own_key in [key for key, _ in signatures]


def _signatures(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Read the vector of an account's signatures; nearly always there is one."""
    if one := ONE_SIGNATURE.fullmatch(raw):
        return [(one["key"], one["signature"])]
    value = xdr.SCVal.from_xdr_bytes(raw)
    items = value.vec.sc_vec if value.vec is not None else []
    pairs = [_pair(item) for item in items[: _MAX_SIGNATURES + 1]]
    keys = [key for key, _ in pairs]
    if not pairs:
        raise _refused("The authorisation is not signed.")
    if len(pairs) > _MAX_SIGNATURES:
        raise _refused(f"The authorisation has more than {_MAX_SIGNATURES} signatures.")
    if keys != sorted(set(keys)):
        raise _refused("The signatures are not sorted by public key.")
    return pairs


def _pair(item: xdr.SCVal) -> tuple[bytes, bytes]:
    entries = item.map.sc_map if item.map is not None else []
    parts = {
        entry.key.sym.sc_symbol: entry.val.bytes.sc_bytes
        for entry in entries
        if entry.key.sym is not None and entry.val.bytes is not None
    }
    key, signature = parts.get(_PUBLIC_KEY, b""), parts.get(_SIGNATURE, b"")
    if (len(entries), len(key), len(signature)) != (2, _KEY_BYTES, _SIGNATURE_BYTES):
        raise _refused("The signature is not a map of public_key (32 bytes) and signature (64 bytes).")
    return key, signature


def _refused(detail: str) -> PaymentRejected:
    return PaymentRejected(reasons.SIMULATION_FAILED, detail)
