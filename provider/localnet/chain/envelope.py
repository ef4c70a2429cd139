"""A submitted transaction, taken apart once: hashes, sources, fees, time bounds, signatures."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property

from stellar_sdk import Keypair, StrKey, xdr
from stellar_sdk.exceptions import BadSignatureError
from stellar_sdk.utils import sha256

MAX_ENVELOPE_BYTES = 128 * 1024


class MalformedEnvelope(ValueError):
    """The envelope is no transaction that this chain can read."""


def address_of(account: xdr.MuxedAccount) -> str:
    """The G address of an account; the id of a muxed one is left out."""
    key = account.med25519.ed25519 if account.med25519 else account.ed25519
    if key is None:
        raise MalformedEnvelope("unknown account type")
    return StrKey.encode_ed25519_public_key(key.uint256)


def signs(public_key: str, signature: bytes, digest: bytes) -> bool:
    try:
        Keypair.from_public_key(public_key).verify(digest, signature)
    except BadSignatureError:
        return False
    return True


@dataclass(frozen=True)
class Envelope:
    """`passphrase` goes into both hashes, so a transaction of another network has other ones."""

    body: xdr.TransactionEnvelope
    passphrase: str

    @classmethod
    def parse(cls, text: str, passphrase: str) -> Envelope:
        """Read base64 XDR. Raises MalformedEnvelope."""
        if len(text) > MAX_ENVELOPE_BYTES * 4 // 3:
            raise MalformedEnvelope("transaction too large")
        try:
            raw = base64.b64decode(text, validate=True)
            envelope = cls(xdr.TransactionEnvelope.from_xdr_bytes(raw), passphrase)
            envelope.tx  # noqa: B018  An envelope kind without a transaction fails here.
        except MalformedEnvelope:
            raise
        except Exception as error:  # The decoder raises a dozen types for hostile bytes.
            raise MalformedEnvelope(str(error)) from error
        return envelope

    @cached_property
    def bump(self) -> xdr.FeeBumpTransaction | None:
        return self.body.fee_bump.tx if self.body.fee_bump else None

    @cached_property
    def _inner(self) -> xdr.TransactionV1Envelope:
        inner = self.bump.inner_tx.v1 if self.bump else self.body.v1
        if inner is None:
            raise MalformedEnvelope("only version 1 transactions and fee bumps are known")
        return inner

    @property
    def tx(self) -> xdr.Transaction:
        return self._inner.tx

    @cached_property
    def source(self) -> str:
        """The account whose sequence number is used."""
        return address_of(self.tx.source_account)

    @cached_property
    def fee_source(self) -> str:
        return address_of(self.bump.fee_source) if self.bump else self.source

    @property
    def fee(self) -> int:
        return self.bump.fee.int64 if self.bump else self.tx.fee.uint32

    @cached_property
    def time_bounds(self) -> tuple[int, int]:
        """Earliest and latest second of the closing ledger; 0 means no bound."""
        cond = self.tx.cond
        bounds = cond.v2.time_bounds if cond.v2 else cond.time_bounds
        return (bounds.min_time.time_point.uint64, bounds.max_time.time_point.uint64) if bounds else (0, 0)

    @cached_property
    def soroban_data(self) -> xdr.SorobanTransactionData | None:
        return self.tx.ext.soroban_data

    @property
    def footprint(self) -> xdr.LedgerFootprint:
        """The keys that it may touch, of a transaction that admission has let pass."""
        assert self.soroban_data is not None
        return self.soroban_data.resources.footprint

    @property
    def extension(self) -> xdr.ExtendFootprintTTLOp | None:
        """The one operation, if it extends the life of entries; a contract call otherwise."""
        return self.tx.operations[0].body.extend_footprint_ttl_op

    def contract_call(self) -> tuple[xdr.InvokeContractArgs, list[xdr.SorobanAuthorizationEntry]]:
        """The call and its authorisations, of a transaction that admission has let pass."""
        call = self.tx.operations[0].body.invoke_host_function_op
        assert call is not None
        assert call.host_function.invoke_contract is not None
        return call.host_function.invoke_contract, call.auth

    @cached_property
    def inner_hash(self) -> bytes:
        return self._digest(xdr.EnvelopeType.ENVELOPE_TYPE_TX, self.tx.to_xdr_bytes())

    @cached_property
    def hash(self) -> bytes:
        """The hash of the outermost transaction."""
        if self.bump is None:
            return self.inner_hash
        return self._digest(xdr.EnvelopeType.ENVELOPE_TYPE_TX_FEE_BUMP, self.bump.to_xdr_bytes())

    def _digest(self, kind: xdr.EnvelopeType, body: bytes) -> bytes:
        return sha256(sha256(self.passphrase.encode()) + kind.to_xdr_bytes() + body)

    def inner_signatures_hold(self) -> xdr.TransactionResultCode | None:
        """None when the source accounts of transaction and operations signed, and no other key."""
        accounts = {self.source}
        accounts |= {address_of(op.source_account) for op in self.tx.operations if op.source_account}
        return _check(accounts, self._inner.signatures, self.inner_hash)

    def bump_signatures_hold(self) -> xdr.TransactionResultCode | None:
        if self.body.fee_bump is None:
            return None
        return _check({self.fee_source}, self.body.fee_bump.signatures, self.hash)


def _check(
    accounts: set[str], signatures: list[xdr.DecoratedSignature], digest: bytes
) -> xdr.TransactionResultCode | None:
    missing, extra = set(accounts), 0
    for item in signatures:
        signed = {a for a in accounts if signs(a, item.signature.signature, digest)}
        missing -= signed
        extra += not signed
    if missing:
        return xdr.TransactionResultCode.txBAD_AUTH
    return xdr.TransactionResultCode.txBAD_AUTH_EXTRA if extra else None
