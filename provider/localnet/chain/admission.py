"""Which transactions the queue takes: shape, sequence, fee, time bounds, signatures."""

from __future__ import annotations

from stellar_sdk import xdr

from provider.localnet.chain.envelope import Envelope
from provider.localnet.chain.model import Account
from provider.localnet.chain.xdrout import BASE_FEE, RESOURCE_FEE, refusal

Code = xdr.TransactionResultCode


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
    return refusal(inner, envelope, inner=True) if inner is not None else None


def _outer(envelope: Envelope, fee_source: Account | None) -> xdr.TransactionResultCode | None:
    """Fee and signature of whoever pays the fee."""
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
    calls = [op.body.invoke_host_function_op for op in operations]
    if not all(call and call.host_function.invoke_contract for call in calls):
        return Code.txNOT_SUPPORTED
    data = envelope.soroban_data
    if len(calls) != 1 or data is None:
        return Code.txMALFORMED
    return Code.txSOROBAN_INVALID if data.resource_fee.int64 < RESOURCE_FEE else None


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
