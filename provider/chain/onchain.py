"""What a payment leaves on the chain, and how it differs from one that looks the same (standard §10).

A payment is a transfer that its payer authorised under a nonce. The host writes an entry for the nonce when,
and only when, the authorised call ran in a successful transaction. Amount, payer and payee prove nothing,
since equal payments exist. Nor does the nonce alone: a payer may sign it for two calls, of which only one can
run. So the call that used the nonce is looked at, too.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from stellar_sdk import Address, MuxedAccount, scval, xdr

from provider.chain.nonces import nonce_key
from provider.chain.rpc import Event, Transaction

_SUCCESS = "SUCCESS"
_ARMS = ("address", "address_v2", "address_with_delegates")


@dataclass(frozen=True, slots=True)
class Transfer:
    """The transfer that a payment promised: its payer and nonce, and what it moves."""

    asset: str
    payer: str
    pay_to: str
    amount: int
    nonce: int


class Use(StrEnum):
    """What a transaction says about a nonce."""

    PAID = "paid"
    """It used the nonce for our transfer."""
    SPENT = "spent"
    """It used the nonce for another call: our transfer cannot run as long as the nonce entry lives."""
    NONE = "none"
    """It did not use the nonce."""
    UNCLEAR = "unclear"
    """It carries the nonce, or cannot be read, and does not show whether the nonce was used."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A transaction that was looked at for a payment."""

    use: Use
    transaction: str
    ledger: int


Look = tuple[str, tuple[str, ...], int]
"""What the events of equal payments have in common: asset, topics without the token's name, amount."""


_TRANSFER, _BURN, _MINT = (scval.to_symbol(kind).to_xdr() for kind in ("transfer", "burn", "mint"))


def looks_of(wanted: Transfer, issuer: str | None) -> list[Look]:
    """Describe the events that a payment can have left. Those of an issuer are burns and mints.

    `issuer` is that of a Stellar asset contract, empty for another token, None if it is unknown.
    """
    payer, pay_to = (scval.to_address(party).to_xdr() for party in (wanted.payer, wanted.pay_to))
    kinds = {
        (_TRANSFER, payer, pay_to): issuer is None or issuer not in (wanted.payer, wanted.pay_to),
        (_BURN, payer): issuer in (None, wanted.pay_to),
        (_MINT, pay_to): issuer in (None, wanted.payer),
    }
    return [(wanted.asset, topics, wanted.amount) for topics, possible in kinds.items() if possible]


def look_of(event: Event) -> Look:
    """Leave out the last topic of asset contracts, and what a muxed payee adds to the data."""
    amount = event_amount(event.value)
    parties = 2 if event.topics[:1] == (_TRANSFER,) else 1
    return event.contract, event.topics[: 1 + parties], -1 if amount is None else amount


def event_amount(value: str) -> int | None:
    """Read the amount of a transfer event (base64 XDR)."""
    try:
        data = xdr.SCVal.from_xdr(value)
    except Exception:  # The generated decoders raise whatever a broken length or union leads to.
        return None
    return amount_of(data)


def amount_of(data: xdr.SCVal) -> int | None:
    """Read an amount: an i128, or a map with one beside a muxed id (CAP-67)."""
    if data.map is not None:
        pairs = {item.key.sym.sc_symbol: item.val for item in data.map.sc_map if item.key.sym is not None}
        data = pairs.get(b"amount", data)
    return None if data.i128 is None else scval.from_int128(data)


def use_of_nonce(found: Transaction, wanted: Transfer) -> Use:
    """Return what a transaction did with the nonce of a payment.

    An authorisation entry in an envelope is not yet a used one: the host leaves entries alone that no call
    asked for. It was used if the call of the transaction can have been authorised by nothing else, or if
    the meta shows that the nonce entry was created.
    """
    if found.status != _SUCCESS:
        return Use.NONE
    try:
        transaction = _inner(xdr.TransactionEnvelope.from_xdr(found.envelope))
        return _use(transaction, found.meta, wanted) if transaction else Use.NONE
    except Exception:  # The generated decoders raise whatever a broken length or union leads to.
        return Use.UNCLEAR


def nonces_of(found: Transaction) -> frozenset[tuple[str, int]] | None:
    """List the nonces, each with its payer, that a transaction carries; None if it cannot be read."""
    try:
        transaction = _inner(xdr.TransactionEnvelope.from_xdr(found.envelope))
        signed = [_signed(entry) for op in _calls(transaction) for entry in op.auth]
        return frozenset((_address(one.address), one.nonce.int64) for one in signed if one is not None)
    except Exception:  # The generated decoders raise whatever a broken length or union leads to.
        return None


def _calls(transaction: xdr.Transaction | None) -> list[xdr.InvokeHostFunctionOp]:
    operations = transaction.operations if transaction else []
    return [op.body.invoke_host_function_op for op in operations if op.body.invoke_host_function_op]


def _inner(envelope: xdr.TransactionEnvelope) -> xdr.Transaction | None:
    """Unwrap a fee bump: an RPC gives the outer envelope, also for an inner hash."""
    if envelope.fee_bump is not None:
        inner = envelope.fee_bump.tx.inner_tx.v1
        return inner.tx if inner else None
    return envelope.v1.tx if envelope.v1 else None


def _use(transaction: xdr.Transaction, meta: str, wanted: Transfer) -> Use:
    found = [(op, entry) for op in _calls(transaction) for entry in op.auth if _is_under(entry, wanted)]
    used = [entry for operation, entry in found if _is_needed(entry, operation, transaction)]
    if not used:
        if not found or (meta and not _creates(meta, wanted)):
            return Use.NONE
        if len(found) > 1 or not meta:  # Of two entries under one nonce the meta does not name the used one.
            return Use.UNCLEAR
        used = [found[0][1]]
    return Use.PAID if _is_transfer(used[0].root_invocation.function.contract_fn, wanted) else Use.SPENT


def _is_under(entry: xdr.SorobanAuthorizationEntry, wanted: Transfer) -> bool:
    """Return whether an authorisation entry is by the payer under the nonce, in any arm that has one."""
    signed = _signed(entry)
    if signed is None or signed.nonce.int64 != wanted.nonce:
        return False
    return _address(signed.address) == wanted.payer


def _signed(entry: xdr.SorobanAuthorizationEntry) -> xdr.SorobanAddressCredentials | None:
    for arm in _ARMS:
        part = getattr(entry.credentials, arm)
        if part is not None:
            signed: xdr.SorobanAddressCredentials = getattr(part, "address_credentials", part)
            return signed
    return None


def _is_needed(
    entry: xdr.SorobanAuthorizationEntry, operation: xdr.InvokeHostFunctionOp, transaction: xdr.Transaction
) -> bool:
    """Return whether a successful call must have used this entry: nothing else can have authorised it."""
    call, authorized = operation.host_function.invoke_contract, entry.root_invocation.function.contract_fn
    if call is None or authorized is None or call != authorized or not _asks_its_payer(call):
        return False
    rivals = [other for other in operation.auth if other.root_invocation.function.contract_fn == call]
    payer = _address(_payer_of(call))
    by_payer = [other for other in rivals if (signed := _signed(other)) and _address(signed.address) == payer]
    return by_payer == [entry] and payer not in _sources(transaction)


def _asks_its_payer(call: xdr.InvokeContractArgs) -> bool:
    """Return whether the call is a transfer, which tokens run under the authority of its first argument."""
    return call.function_name.sc_symbol == b"transfer" and len(call.args) == 3 and bool(call.args[0].address)


def _payer_of(call: xdr.InvokeContractArgs) -> xdr.SCAddress:
    assert call.args[0].address is not None
    return call.args[0].address


def _sources(transaction: xdr.Transaction) -> Iterator[str]:
    own = [op.source_account for op in transaction.operations if op.source_account is not None]
    for account in (transaction.source_account, *own):
        yield MuxedAccount.from_xdr_object(account).account_id


def _is_transfer(call: xdr.InvokeContractArgs | None, wanted: Transfer) -> bool:
    if call is None or _address(call.contract_address) != wanted.asset or not _asks_its_payer(call):
        return False
    parties = [_address(value.address) if value.address else "" for value in call.args[:2]]
    amount = None if call.args[2].i128 is None else scval.from_int128(call.args[2])
    return parties == [wanted.payer, wanted.pay_to] and amount == wanted.amount


def _creates(meta: str, wanted: Transfer) -> bool:
    """Return whether the meta lists the nonce entry among those that the operation created."""
    key = base64.b64decode(nonce_key(wanted.payer, wanted.nonce))
    return any(_key_of(entry) == key for entry in _created(xdr.TransactionMeta.from_xdr(meta)))


def _created(meta: xdr.TransactionMeta) -> Iterator[xdr.LedgerEntry]:
    body = meta.v4 or meta.v3
    for operation in body.operations if body else []:
        for change in operation.changes.ledger_entry_changes:
            if change.created is not None:
                yield change.created


def _key_of(entry: xdr.LedgerEntry) -> bytes | None:
    data = entry.data.contract_data
    if data is None:
        return None
    key = xdr.LedgerKeyContractData(data.contract, data.key, data.durability)
    return xdr.LedgerKey(xdr.LedgerEntryType.CONTRACT_DATA, contract_data=key).to_xdr_bytes()


def _address(address: xdr.SCAddress) -> str:
    return Address.from_xdr_sc_address(address).address
