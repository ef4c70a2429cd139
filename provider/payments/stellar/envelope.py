"""Take a Stellar transaction envelope apart, without judging it.

The usual payment is read by one pattern (`usual`), everything else by the SDK's raw `xdr` classes, which cost
half of what its `TransactionEnvelope` does.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache

from stellar_sdk import MuxedAccount, StrKey, xdr

from provider.errors import PaymentRejected
from provider.payments import reasons
from provider.payments.stellar.signed import Authorization, ContractCall
from provider.payments.stellar.usual import match_payment

MAX_TRANSACTION_CHARS = 16 * 1024
"""A real payment has about 1.4 kB; a hostile vector of 8 MB keeps the decoder busy for ten seconds."""

_CREDENTIALS = {
    xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS: "address",
    xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS_V2: "address_v2",
    xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_ADDRESS_WITH_DELEGATES: "address_with_delegates",
}
_PAYERS = (xdr.SCAddressType.SC_ADDRESS_TYPE_ACCOUNT, xdr.SCAddressType.SC_ADDRESS_TYPE_CONTRACT)


class PaymentEnvelope:
    """A v1 envelope; `digest` is equal only for byte-equal ones."""

    def __init__(self, raw: bytes) -> None:
        self.digest = hashlib.sha256(raw).hexdigest()
        self._raw = raw
        self._usual = match_payment(raw)
        if self._usual is None:
            self.transaction  # noqa: B018  What cannot be decoded is refused at once.

    @cached_property
    def transaction(self) -> xdr.Transaction:
        """The whole transaction, object by object."""
        return _v1_transaction(self._raw)

    def operation(self) -> xdr.InvokeHostFunctionOp:
        """Return the one invokeHostFunction operation."""
        return invoke_operation(self.transaction)

    def call(self) -> ContractCall:
        """Return the contract call of the one operation."""
        if self._usual is not None:
            return _usual_call(self._usual)
        return read_call(contract_call(self.operation()))

    def authorization(self) -> Authorization:
        """Return the one authorisation entry of the one operation."""
        if self._usual is not None:
            return _usual_authorization(self._usual)
        return only_authorization(self.operation())


@lru_cache(maxsize=32)
def decode(transaction: str) -> PaymentEnvelope:
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
    return PaymentEnvelope(raw)


def _usual_call(found: Mapping[str, bytes]) -> ContractCall:
    sender, recipient = (_address_text(found[name]) for name in ("sender", "recipient"))
    amount = int.from_bytes(found["amount"], "big", signed=True)
    return ContractCall(
        _address_text(found["contract"]), b"transfer", (sender, recipient, amount), found["call"]
    )


def _usual_authorization(found: Mapping[str, bytes]) -> Authorization:
    return Authorization(
        credentials=_CREDENTIALS[xdr.SorobanCredentialsType(found["arm"][3])],
        address=_address_text(found["payer"]),
        raw_address=found["payer"],
        nonce=int.from_bytes(found["nonce"], "big", signed=True),
        expiration_ledger=int.from_bytes(found["expiration"], "big"),
        raw_signature=found["signed"],
        raw_invocation=found["invocation"],
        raw_call=found["call"],
        is_nested=False,
    )


def _address_text(raw: bytes) -> str:
    """Spell the XDR of a G or C address as StrKey."""
    return _contract_text(raw[4:]) if raw[3] else _account_text(raw[8:])


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


def read_call(call: xdr.InvokeContractArgs) -> ContractCall:
    """Read a contract call."""
    arguments = tuple(_argument(value) for value in call.args)
    contract = address_text(call.contract_address)
    return ContractCall(contract, call.function_name.sc_symbol, arguments, call.to_xdr_bytes())


def _argument(value: xdr.SCVal) -> str | int | None:
    return address_argument(value) or i128_argument(value)


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
    call = entry.root_invocation.function.contract_fn
    return Authorization(
        credentials=arm,
        address=address_text(signed.address),
        raw_address=signed.address.to_xdr_bytes(),
        nonce=signed.nonce.int64,
        expiration_ledger=signed.signature_expiration_ledger.uint32,
        raw_signature=signed.signature.to_xdr_bytes(),
        raw_invocation=entry.root_invocation.to_xdr_bytes(),
        raw_call=None if call is None else call.to_xdr_bytes(),
        is_nested=bool(entry.root_invocation.sub_invocations),
    )


def address_text(address: xdr.SCAddress) -> str:
    """Spell a G or C address as StrKey."""
    if address.contract_id is not None:
        return _contract_text(address.contract_id.contract_id.hash)
    assert address.account_id is not None
    key = address.account_id.account_id.ed25519
    assert key is not None
    return _account_text(key.uint256)


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
