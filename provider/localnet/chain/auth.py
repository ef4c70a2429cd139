"""Authorisation of a contract call: record what has to be signed, or check what was (CAP-46-11, CAP-71)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Protocol

from stellar_sdk import Address, StrKey, xdr
from stellar_sdk.auth import authorization_payload_hash, build_authorization_preimage

from provider.localnet.chain import keys
from provider.localnet.chain.envelope import signs
from provider.localnet.chain.errors import HostError
from provider.localnet.chain.model import Account, Token
from provider.localnet.chain.settings import MAX_ENTRY_TTL

Kind = xdr.SorobanCredentialsType
VOID = xdr.SCVal(xdr.SCValType.SCV_VOID)


class World(Protocol):
    """What a call can read. `ledger` is the ledger that the call runs in."""

    token: Token
    passphrase: str
    ledger: int

    @property
    def min_temporary_ttl(self) -> int: ...
    def account(self, address: str) -> Account | None: ...
    def balance(self, address: str) -> int: ...
    def has_nonce(self, address: str, nonce: int) -> bool: ...


@dataclass(frozen=True)
class Consumed:
    """A nonce that the call uses up; its entry lives until `live_until`."""

    address: str
    nonce: int
    live_until: int

    @property
    def key(self) -> bytes:
        """Ledger key of the entry (XDR)."""
        return keys.nonce_key(self.address, self.nonce).to_xdr_bytes()


def record(
    address: str, source: str, call: xdr.InvokeContractArgs, upgraded: bool
) -> xdr.SorobanAuthorizationEntry:
    """The entry that `address` has to sign. The transaction source needs none of its own."""
    if address == source:
        return xdr.SorobanAuthorizationEntry(
            xdr.SorobanCredentials(Kind.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT), _root(call)
        )
    inner = xdr.SorobanAddressCredentials(
        address=Address(address).to_xdr_sc_address(),
        nonce=xdr.Int64(secrets.randbits(63)),
        signature_expiration_ledger=xdr.Uint32(0),
        signature=VOID,
    )
    if upgraded:
        credentials = xdr.SorobanCredentials(Kind.SOROBAN_CREDENTIALS_ADDRESS_V2, address_v2=inner)
    else:
        credentials = xdr.SorobanCredentials(Kind.SOROBAN_CREDENTIALS_ADDRESS, address=inner)
    return xdr.SorobanAuthorizationEntry(credentials, _root(call))


def enforce(
    address: str,
    source: str,
    call: xdr.InvokeContractArgs,
    auth: list[xdr.SorobanAuthorizationEntry],
    world: World,
) -> Consumed | None:
    """Check the entry of `address` for this call; entries of other calls are left alone. Raises HostError."""
    wanted = _function(call).to_xdr_bytes()
    for entry in auth:
        if entry.root_invocation.function.to_xdr_bytes() != wanted:
            continue
        credentials = address_credentials(entry.credentials)
        if credentials is None:
            if address == source:
                return None
        elif keys.address_text(credentials.address) == address:
            return _authenticate(address, entry, credentials, world)
    raise HostError("Auth", "InvalidAction", f"Unauthorized function call for address {address}")


def address_credentials(credentials: xdr.SorobanCredentials) -> xdr.SorobanAddressCredentials | None:
    """Address, nonce, expiration and signature of any arm that has them."""
    if credentials.address_with_delegates:
        return credentials.address_with_delegates.address_credentials
    return credentials.address or credentials.address_v2


def _authenticate(
    address: str,
    entry: xdr.SorobanAuthorizationEntry,
    credentials: xdr.SorobanAddressCredentials,
    world: World,
) -> Consumed:
    expiration = credentials.signature_expiration_ledger.uint32
    if world.ledger > expiration:
        raise HostError("Auth", "InvalidInput", f"signature has expired: {world.ledger} > {expiration}")
    if expiration > world.ledger + MAX_ENTRY_TTL - 1:
        raise HostError("Auth", "InvalidInput", "signature expiration is too late")
    nonce = credentials.nonce.int64
    if world.has_nonce(address, nonce):
        raise HostError("Auth", "ExistingValue", f"nonce already exists for address {address}")
    preimage = build_authorization_preimage(entry, expiration, world.passphrase)
    digest = authorization_payload_hash(preimage)
    _check_signature(_signer(address, world), credentials.signature, digest)
    if entry.credentials.address_with_delegates:
        _check_delegates(entry.credentials.address_with_delegates.delegates, digest, world)
    return Consumed(address, nonce, max(expiration, world.ledger + world.min_temporary_ttl - 1))


def _check_delegates(delegates: list[xdr.SorobanDelegateSignature], digest: bytes, world: World) -> None:
    """Those that signed must have signed this call; whether any had to is the account's business."""
    for delegate in delegates:
        if delegate.signature != VOID:
            signer = _signer(keys.address_text(delegate.address), world)
            _check_signature(signer, delegate.signature, digest)
        _check_delegates(delegate.nested_delegates, digest, world)


def _signer(address: str, world: World) -> str:
    """The G form of the only key that signs for an account or a wallet."""
    account = world.account(address)
    if account is None:
        raise HostError("Auth", "InvalidAction", f"account {address} does not exist")
    return StrKey.encode_ed25519_public_key(account.signer) if account.signer else address


def _check_signature(public_key: str, value: xdr.SCVal, digest: bytes) -> None:
    """Accept `Vec<Map{public_key, signature}>` with exactly the one key, or a wallet's bare 64 bytes."""
    for key, signature in _signatures(value, public_key):
        if key != StrKey.decode_ed25519_public_key(public_key):
            raise HostError("Auth", "InvalidAction", "signature of a key that is no signer")
        if len(signature) == 64 and signs(public_key, signature, digest):
            return
    raise HostError("Auth", "InvalidAction", "failed account authentication with error")


def _signatures(value: xdr.SCVal, public_key: str) -> list[tuple[bytes, bytes]]:
    if value.bytes is not None:
        return [(StrKey.decode_ed25519_public_key(public_key), value.bytes.sc_bytes)]
    found = []
    for item in value.vec.sc_vec if value.vec else []:
        fields = {f.key.sym.sc_symbol: f.val for f in (item.map.sc_map if item.map else []) if f.key.sym}
        key, signature = fields.get(b"public_key"), fields.get(b"signature")
        if key and key.bytes and signature and signature.bytes:
            found.append((key.bytes.sc_bytes, signature.bytes.sc_bytes))
    return found


def _function(call: xdr.InvokeContractArgs) -> xdr.SorobanAuthorizedFunction:
    kind = xdr.SorobanAuthorizedFunctionType.SOROBAN_AUTHORIZED_FUNCTION_TYPE_CONTRACT_FN
    return xdr.SorobanAuthorizedFunction(kind, contract_fn=call)


def _root(call: xdr.InvokeContractArgs) -> xdr.SorobanAuthorizedInvocation:
    return xdr.SorobanAuthorizedInvocation(_function(call), [])
