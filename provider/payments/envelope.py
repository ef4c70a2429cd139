"""Take a Stellar transaction envelope apart, without judging it.

The raw `xdr` classes are used throughout: they cost half of what `TransactionEnvelope` does, and this runs
for every paid call.
"""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from stellar_sdk import MuxedAccount, StrKey, xdr

from provider.errors import PaymentRejected
from provider.payments import reasons

MAX_TRANSACTION_CHARS = 16 * 1024
"""A real payment has about 1.4 kB; a hostile vector of 8 MB keeps the decoder busy for ten seconds."""

_CREDENTIALS = {
    xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS: "address",
    xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS_V2: "address_v2",
    xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS_WITH_DELEGATES: "address_with_delegates",
}
_PAYERS = (xdr.SCAddressType.SC_ADDRESS_TYPE_ACCOUNT, xdr.SCAddressType.SC_ADDRESS_TYPE_CONTRACT)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A decoded envelope; `digest` is equal only for byte-equal ones."""

    digest: str
    transaction: xdr.Transaction


@dataclass(frozen=True, slots=True)
class Authorization:
    """One authorisation entry with address credentials."""

    entry: xdr.SorobanAuthorizationEntry
    credentials: str
    """The arm: `address`, `address_v2` or `address_with_delegates`."""
    signed: xdr.SorobanAddressCredentials
    address: str

    @property
    def nonce(self) -> int:
        return self.signed.nonce.int64

    @property
    def expiration_ledger(self) -> int:
        return self.signed.signature_expiration_ledger.uint32


@lru_cache(maxsize=32)
def decode(transaction: str) -> Envelope:
    """Decode the base64 of a v1 envelope; cached, since a call is identified first and checked later.

    Raises:
        PaymentRejected: if it is too large, not strict base64, or no v1 envelope.
    """
    if len(transaction) > MAX_TRANSACTION_CHARS:
        raise malformed(f"The transaction is larger than {MAX_TRANSACTION_CHARS} characters.")
    try:
        raw = base64.b64decode(transaction, validate=True)
    except ValueError:
        raise malformed("The transaction is not base64.") from None
    return Envelope(hashlib.sha256(raw).hexdigest(), _v1_transaction(raw))


def _v1_transaction(raw: bytes) -> xdr.Transaction:
    try:
        envelope = xdr.TransactionEnvelope.from_xdr_bytes(raw)
        canonical = envelope.to_xdr_bytes() == raw
    except Exception:
        # The generated decoders raise whatever a broken length or union leads to, RecursionError included.
        raise malformed("The transaction is not the XDR of a transaction envelope.") from None
    if not canonical:
        # The decoder skips padding and takes any number for true; other readers would see another document.
        raise malformed("The transaction is not canonical XDR.")
    if envelope.v1 is None:
        raise malformed("The transaction is not a v1 envelope; send neither a fee bump nor a v0 envelope.")
    return envelope.v1.tx


def invoke_operation(transaction: xdr.Transaction) -> xdr.InvokeHostFunctionOp:
    """Return the one invokeHostFunction operation."""
    if len(transaction.operations) != 1:
        raise PaymentRejected(
            reasons.WRONG_OPERATION, f"The transaction has {len(transaction.operations)} operations, not one."
        )
    operation = transaction.operations[0].body.invoke_host_function_op
    if operation is None:
        raise PaymentRejected(reasons.WRONG_OPERATION, "The operation is not invokeHostFunction.")
    return operation


def contract_call(operation: xdr.InvokeHostFunctionOp) -> xdr.InvokeContractArgs:
    """Return the contract call of an operation."""
    call = operation.host_function.invoke_contract
    if call is None:
        raise PaymentRejected(reasons.WRONG_OPERATION, "The host function does not invoke a contract.")
    if call.contract_address.contract_id is None:
        raise PaymentRejected(reasons.WRONG_ASSET, "The called address is no contract.")
    return call


def sources(transaction: xdr.Transaction) -> Iterator[str]:
    """Yield the source accounts of a transaction and its operations, muxed ones unwrapped."""
    own = [op.source_account for op in transaction.operations if op.source_account is not None]
    for account in (transaction.source_account, *own):
        yield MuxedAccount.from_xdr_object(account).account_id


def only_authorization(operation: xdr.InvokeHostFunctionOp) -> Authorization:
    """Return the one authorisation entry.

    One entry, because one nonce is one claim (standard J2): of two entries by the payer the chain uses up
    one, and the other would vouch for a payment that never happened.
    """
    if not operation.auth:
        raise PaymentRejected(reasons.NO_AUTH_ENTRIES, "The operation carries no authorisation entry.")
    found = [authorization(entry) for entry in operation.auth]
    if len({one.address for one in found}) > 1:
        raise PaymentRejected(
            reasons.UNEXPECTED_PENDING_SIGNATURES,
            "Somebody else has to sign; only the payer may.",
        )
    if len(found) > 1:
        raise malformed(f"The operation carries {len(found)} authorisation entries; send one.")
    return found[0]


def authorization(entry: xdr.SorobanAuthorizationEntry) -> Authorization:
    """Read an entry of any arm that has a nonce (CAP-71); SOURCE_ACCOUNT has none and is refused."""
    arm = _CREDENTIALS.get(entry.credentials.type)
    if arm is None:
        raise PaymentRejected(
            reasons.UNSUPPORTED_CREDENTIAL_TYPE,
            "Source account credentials have no nonce; sign address credentials.",
        )
    part = getattr(entry.credentials, arm)
    signed = part.address_credentials if arm == "address_with_delegates" else part
    if signed.address.type not in _PAYERS:
        raise PaymentRejected(reasons.SIMULATION_FAILED, "Neither an account nor a contract authorises it.")
    return Authorization(entry, arm, signed, address_text(signed.address))


def address_text(address: xdr.SCAddress) -> str:
    """Spell a G or C address as StrKey."""
    if address.contract_id is not None:
        return _contract_text(address.contract_id.contract_id.hash)
    return _account_text(raw_key(address))


def raw_key(address: xdr.SCAddress) -> bytes:
    """Return the public key of a G address."""
    assert address.account_id is not None
    key = address.account_id.account_id.ed25519
    assert key is not None
    return key.uint256


_account_text = lru_cache(maxsize=1024)(StrKey.encode_ed25519_public_key)
_contract_text = lru_cache(maxsize=1024)(StrKey.encode_contract)


def address_argument(value: xdr.SCVal) -> str | None:
    """Spell an argument as StrKey, if it is a G or C address; a transfer to a muxed one cannot settle."""
    if value.address is None or value.address.type not in _PAYERS:
        return None
    return address_text(value.address)


def i128_argument(value: xdr.SCVal) -> int | None:
    """Read an argument as i128, if it is one."""
    return None if value.i128 is None else (value.i128.hi.int64 << 64) | value.i128.lo.uint64


def malformed(detail: str) -> PaymentRejected:
    """Make the refusal of what cannot be decoded."""
    return PaymentRejected(reasons.MALFORMED, detail)
