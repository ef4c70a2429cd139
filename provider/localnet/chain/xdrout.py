"""The XDR that leaves the chain: events, results, meta, simulation data."""

from __future__ import annotations

from stellar_sdk import Address, scval, xdr
from stellar_sdk.utils import sha256

from provider.localnet.chain.envelope import Envelope
from provider.localnet.chain.model import Token

RESOURCE_FEE = 20_000
BASE_FEE = 100

Code = xdr.TransactionResultCode
CONTRACT = xdr.ContractEventType.CONTRACT
DIAGNOSTIC = xdr.ContractEventType.DIAGNOSTIC
VOID = xdr.SCVal(xdr.SCValType.SCV_VOID)


def movement(
    token: Token, sender: str, recipient: str, amount: int, muxed_id: int | None
) -> xdr.ContractEvent:
    """The transfer event of an asset contract; the issuer makes it a mint or a burn (CAP-67)."""
    parties = {"transfer": [sender, recipient], "mint": [recipient], "burn": [sender]}
    kind = "mint" if sender == token.issuer else "burn" if recipient == token.issuer else "transfer"
    topics = [scval.to_symbol(kind), *map(scval.to_address, parties[kind]), scval.to_string(token.name)]
    data = scval.to_int128(amount)
    if muxed_id is not None:
        fields = {"amount": data, "to_muxed_id": scval.to_uint64(muxed_id)}
        data = scval.to_map({scval.to_symbol(name): value for name, value in fields.items()})
    return _event(CONTRACT, token.contract, topics, data)


def diagnostics(
    args: xdr.InvokeContractArgs, events: list[xdr.ContractEvent], value: xdr.SCVal
) -> list[xdr.DiagnosticEvent]:
    """The events that a successful call shows: the call, what the contract said, the return."""
    contract = Address.from_xdr_sc_address(args.contract_address)
    name = xdr.SCVal(xdr.SCValType.SCV_SYMBOL, sym=args.function_name)
    called = [scval.to_symbol("fn_call"), scval.to_bytes(contract.key), name]
    data = args.args[0] if len(args.args) == 1 else scval.to_vec(args.args)
    if not args.args:
        data = xdr.SCVal(xdr.SCValType.SCV_VOID)
    returned = [scval.to_symbol("fn_return"), name]
    shown = [
        _event(DIAGNOSTIC, None, called, data),
        *events,
        _event(DIAGNOSTIC, contract.address, returned, value),
    ]
    return [xdr.DiagnosticEvent(True, event) for event in shown]


def error_diagnostics(contract: str, message: str) -> list[xdr.DiagnosticEvent]:
    event = _event(DIAGNOSTIC, contract, [scval.to_symbol("error")], scval.to_string(message))
    return [xdr.DiagnosticEvent(False, event)]


def _event(
    kind: xdr.ContractEventType, contract: str | None, topics: list[xdr.SCVal], data: xdr.SCVal
) -> xdr.ContractEvent:
    contract_id = Address(contract).to_xdr_sc_address().contract_id if contract else None
    body = xdr.ContractEventBody(0, v0=xdr.ContractEventV0(topics, data))
    return xdr.ContractEvent(xdr.ExtensionPoint(0), contract_id, kind, body)


def soroban_data(
    read_only: list[xdr.LedgerKey], read_write: list[xdr.LedgerKey]
) -> xdr.SorobanTransactionData:
    """The resources of a simulated call; a key that is written is not listed as read, too."""
    resources = xdr.SorobanResources(
        footprint=xdr.LedgerFootprint(read_only, read_write),
        instructions=xdr.Uint32(1_000_000),
        disk_read_bytes=xdr.Uint32(1_000),
        write_bytes=xdr.Uint32(500),
    )
    return xdr.SorobanTransactionData(xdr.SorobanTransactionDataExt(0), resources, xdr.Int64(RESOURCE_FEE))


def fee_charged(envelope: Envelope) -> int:
    """A flat charge: the base fee an operation, the wrapper of a fee bump, and the resources."""
    return min(envelope.fee, BASE_FEE * (2 if envelope.bump else 1) + RESOURCE_FEE)


def refusal(
    code: xdr.TransactionResultCode,
    envelope: Envelope,
    inner: bool = False,
    operation: xdr.OperationResultTr | None = None,
) -> xdr.TransactionResult:
    """The result of a transaction that is not accepted; `inner` if the fee bump itself is fine.

    It names the fee that would have been charged; none is.
    `operation` is the result of the operation that makes it txFAILED.
    """
    results = None if operation is None else [_inner(operation)]
    charged = fee_charged(envelope)
    if envelope.bump is None or not inner:
        return _result(charged, xdr.TransactionResultResult(code, results=results))
    pair = _pair(envelope, code, results)
    return _result(charged, xdr.TransactionResultResult(Code.txFEE_BUMP_INNER_FAILED, inner_result_pair=pair))


def called(value: xdr.SCVal | None, events: list[xdr.ContractEvent]) -> xdr.OperationResultTr:
    """The result of a contract call; no value means that it trapped."""
    status = xdr.InvokeHostFunctionResultCode
    if value is None:
        done = xdr.InvokeHostFunctionResult(status.INVOKE_HOST_FUNCTION_TRAPPED)
    else:
        digest = sha256(xdr.InvokeHostFunctionSuccessPreImage(value, events).to_xdr_bytes())
        done = xdr.InvokeHostFunctionResult(status.INVOKE_HOST_FUNCTION_SUCCESS, success=xdr.Hash(digest))
    return xdr.OperationResultTr(xdr.OperationType.INVOKE_HOST_FUNCTION, invoke_host_function_result=done)


def outcome(envelope: Envelope, operation: xdr.OperationResultTr, successful: bool) -> xdr.TransactionResult:
    """The result of an applied transaction."""
    results = [_inner(operation)]
    code = Code.txSUCCESS if successful else Code.txFAILED
    charged = fee_charged(envelope)
    if envelope.bump is None:
        return _result(charged, xdr.TransactionResultResult(code, results=results))
    bump = Code.txFEE_BUMP_INNER_SUCCESS if successful else Code.txFEE_BUMP_INNER_FAILED
    pair = _pair(envelope, code, results)
    return _result(charged, xdr.TransactionResultResult(bump, inner_result_pair=pair))


def meta(
    value: xdr.SCVal | None,
    events: list[xdr.ContractEvent],
    shown: list[xdr.DiagnosticEvent],
    changed: xdr.LedgerEntryChanges | None = None,
) -> xdr.TransactionMeta:
    """Meta version 4; a trapped transaction has no operations in it."""
    operations, soroban = [], None
    if value is not None:
        changed = changed or xdr.LedgerEntryChanges([])
        operations = [xdr.OperationMetaV2(xdr.ExtensionPoint(0), changed, events)]
        soroban = xdr.SorobanTransactionMetaV2(xdr.SorobanTransactionMetaExt(0), value)
    body = xdr.TransactionMetaV4(
        ext=xdr.ExtensionPoint(0),
        tx_changes_before=xdr.LedgerEntryChanges([]),
        operations=operations,
        tx_changes_after=xdr.LedgerEntryChanges([]),
        soroban_meta=soroban,
        events=[],
        diagnostic_events=shown,
    )
    return xdr.TransactionMeta(4, v4=body)


def _result(charged: int, body: xdr.TransactionResultResult) -> xdr.TransactionResult:
    return xdr.TransactionResult(xdr.Int64(charged), body, xdr.TransactionResultExt(0))


def _inner(operation: xdr.OperationResultTr) -> xdr.OperationResult:
    return xdr.OperationResult(xdr.OperationResultCode.opINNER, tr=operation)


def _pair(
    envelope: Envelope, code: xdr.TransactionResultCode, results: list[xdr.OperationResult] | None
) -> xdr.InnerTransactionResultPair:
    inner = xdr.InnerTransactionResult(
        xdr.Int64(0),
        xdr.InnerTransactionResultResult(code, results=results),
        xdr.InnerTransactionResultExt(0),
    )
    return xdr.InnerTransactionResultPair(xdr.Hash(envelope.inner_hash), inner)
