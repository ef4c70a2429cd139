"""simulateTransaction: run a call in the next ledger and say what it needs."""

from __future__ import annotations

from typing import Any

from provider.localnet.chain import host, xdrout
from provider.localnet.chain.envelope import Envelope, MalformedEnvelope, address_of
from provider.localnet.chain.errors import HostError, InvalidParams
from provider.localnet.chain.state import ChainState

AUTH_MODES = ("", "enforce", "record", "record_allow_nonroot")


def simulate(state: ChainState, text: str, params: dict[str, Any], at: int) -> dict[str, Any]:
    """The reply of a node at ledger `at`. A failure is a reply with `error`, not an exception."""
    mode = params.get("authMode") or ""
    if mode not in AUTH_MODES:
        raise InvalidParams(f"unknown authMode {mode!r}")
    try:
        call = _call(Envelope.parse(text, state.config.passphrase), mode, _upgraded(state, params))
        with state.lock:
            effects = host.invoke(call, state.snapshot(at, ledger=at + 1))
    except MalformedEnvelope:
        return {"error": "Could not unmarshal transaction", "latestLedger": at}
    except _Unsimulated as error:
        return {"error": str(error), "latestLedger": at}
    except HostError as error:
        shown = xdrout.error_diagnostics(state.config.token.contract, error.message)
        return {"error": error.text, "events": [event.to_xdr() for event in shown], "latestLedger": at}
    return _success(call, effects, at)


class _Unsimulated(Exception):
    pass


def _upgraded(state: ChainState, params: dict[str, Any]) -> bool:
    if state.credentials == "by-flag":
        return params.get("useUpgradedAuth") is True
    return state.credentials == "v2"


def _call(envelope: Envelope, mode: str, upgraded: bool) -> host.Call:
    operations = envelope.tx.operations
    if len(operations) != 1:
        raise _Unsimulated("Transaction contains more than one operation")
    body = operations[0].body.invoke_host_function_op
    if body is None or body.host_function.invoke_contract is None:
        raise _Unsimulated(f"Transaction contains unsupported operation type: {operations[0].body.type.name}")
    if mode.startswith("record") and body.auth:
        raise _Unsimulated("authorization entries are not allowed in the record mode")
    source = operations[0].source_account
    return host.Call(
        body.host_function.invoke_contract,
        address_of(source) if source else envelope.source,
        body.auth,
        recording=mode != "enforce" and not body.auth,
        upgraded=upgraded,
    )


def _success(call: host.Call, effects: host.Effects, at: int) -> dict[str, Any]:
    read_only = [key for raw, key in sorted(effects.read_only.items()) if raw not in effects.read_write]
    read_write = [key for _, key in sorted(effects.read_write.items())]
    shown = xdrout.diagnostics(call.args, effects.events, effects.value)
    return {
        "transactionData": xdrout.soroban_data(read_only, read_write).to_xdr(),
        "minResourceFee": str(xdrout.RESOURCE_FEE),
        "events": [event.to_xdr() for event in shown],
        "results": [{"auth": [entry.to_xdr() for entry in effects.auth], "xdr": effects.value.to_xdr()}],
        "latestLedger": at,
    }
