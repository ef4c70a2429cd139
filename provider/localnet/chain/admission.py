"""Which transactions the queue takes: shape, sequence, fee, time bounds, signatures."""

from __future__ import annotations

from stellar_sdk import xdr

from provider.localnet.chain import extension
from provider.localnet.chain.envelope import Envelope
from provider.localnet.chain.model import Account
from provider.localnet.chain.xdrout import BASE_FEE, RESOURCE_FEE, refusal

Code = xdr.TransactionResultCode

_Type = xdr.LedgerEntryType
_KEYS = (_Type.ACCOUNT, _Type.TRUSTLINE, _Type.CONTRACT_DATA, _Type.CONTRACT_CODE)
"""What a footprint may name (stellar-core TransactionFrame.cpp:867-873)."""


def refuse(
    envelope: Envelope, source: Account | None, fee_source: Account | None, close_time: float | None
) -> xdr.TransactionResult | None:
    """The error result, or None for a transaction that may wait for the next ledger.

    `close_time` is when the last ledger closed, in seconds; None leaves time bounds unchecked.
    """
    outer = _outer(envelope, fee_source)
    if outer is not None:
        return refusal(outer, envelope)
    inner = _shape(envelope) or _time(envelope, close_time) or _sequence(envelope, source)
    inner = inner or envelope.inner_signatures_hold()
    if inner is not None:
        return refusal(inner, envelope, inner=True)
    longer = envelope.extension
    if longer is not None and extension.is_malformed(longer, envelope.footprint):
        return refusal(Code.txFAILED, envelope, inner=True, operation=extension.MALFORMED)
    return refusal(Code.txSOROBAN_INVALID, envelope) if has_memo(envelope) else None


def _outer(envelope: Envelope, fee_source: Account | None) -> xdr.TransactionResultCode | None:
    """Fee and signature of the account that pays the fee."""
    data = envelope.soroban_data
    resources = data.resource_fee.int64 if data else 0
    operations = len(envelope.tx.operations) + (1 if envelope.bump else 0)
    if envelope.fee < BASE_FEE * operations + resources:
        return Code.txINSUFFICIENT_FEE
    if fee_source is None:
        return Code.txNO_ACCOUNT
    if fee_source.stroops < envelope.fee:
        return Code.txINSUFFICIENT_BALANCE
    return envelope.bump_signatures_hold()


def _shape(envelope: Envelope) -> xdr.TransactionResultCode | None:
    operations = envelope.tx.operations
    if not operations:
        return Code.txMISSING_OPERATION
    if not all(_is_known(op.body) for op in operations):
        return Code.txNOT_SUPPORTED
    data = envelope.soroban_data
    if len(operations) != 1 or data is None:
        return Code.txMALFORMED
    keys = [*envelope.footprint.read_only, *envelope.footprint.read_write]
    named = {key.to_xdr_bytes() for key in keys}
    sound = len(named) == len(keys) and all(key.type in _KEYS for key in keys)
    return None if sound and data.resource_fee.int64 >= RESOURCE_FEE else Code.txSOROBAN_INVALID


def _is_known(body: xdr.OperationBody) -> bool:
    call = body.invoke_host_function_op
    return body.extend_footprint_ttl_op is not None or bool(call and call.host_function.invoke_contract)


def has_memo(envelope: Envelope) -> bool:
    """Return whether a call that addresses authorise has a memo or a muxed source.

    The authorisation would not cover them (TransactionQueue.cpp, validateSorobanMemo, which leaves fee bumps
    alone).
    """
    operation = envelope.tx.operations[0]
    call = operation.body.invoke_host_function_op
    own = xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT
    if envelope.bump or call is None or all(entry.credentials.type == own for entry in call.auth):
        return False
    sources = [envelope.tx.source_account, *filter(None, [operation.source_account])]
    muxed = any(source.med25519 is not None for source in sources)
    return muxed or envelope.tx.memo.type != xdr.MemoType.MEMO_NONE


def _time(envelope: Envelope, close_time: float | None) -> xdr.TransactionResultCode | None:
    if close_time is None:
        return None
    earliest, latest = envelope.time_bounds
    if earliest > int(close_time):
        return Code.txTOO_EARLY
    return Code.txTOO_LATE if latest and latest < int(close_time) else None


def _sequence(envelope: Envelope, source: Account | None) -> xdr.TransactionResultCode | None:
    if source is None:
        return Code.txNO_ACCOUNT
    wanted = envelope.tx.seq_num.sequence_number.int64
    return None if wanted == source.sequence + 1 else Code.txBAD_SEQ
