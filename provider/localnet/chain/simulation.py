"""simulateTransaction: run a call in the latest ledger and say what it needs (simulate_transaction.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stellar_sdk import xdr

from provider.localnet.chain import host, xdrout
from provider.localnet.chain.admission import has_memo
from provider.localnet.chain.envelope import Envelope, MalformedEnvelope, address_of
from provider.localnet.chain.errors import HostError
from provider.localnet.chain.state import ChainState

AUTH_MODES = ("enforce", "record", "record_allow_nonroot")

Json = dict[str, Any]


class _Unsimulated(Exception):
    """The request is refused before the node looks at its ledger, so that `latestLedger` is 0."""


def simulate(state: ChainState, text: str, params: Json, at: int) -> Json:
    """The reply of a node at ledger `at`. A failure is a reply with `error`, not an exception.

    The call sees the ledger that closed last as the present one (preflight/src/shared.rs:52), though it can
    land in the next one at the earliest.
    """
    try:
        envelope = _parsed(text, state.config.passphrase)
        mode = _mode(envelope, params.get("authMode") or "")
    except _Unsimulated as error:
        return {"error": str(error), "latestLedger": 0}
    if envelope.extension is not None:
        return _Reply(at).extension(envelope.footprint)
    call = _call(envelope, mode, _upgraded(state, params))
    try:
        with state.lock:
            effects = host.invoke(call, state.snapshot(at))
    except HostError as error:
        return _Reply(at).failure(state.config.token.contract, error)
    return _Reply(at).success(call, effects)


def _parsed(text: str, passphrase: str) -> Envelope:
    try:
        envelope = Envelope.parse(text, passphrase)
    except MalformedEnvelope:
        raise _Unsimulated("Could not unmarshal transaction") from None
    if len(envelope.tx.operations) != 1:
        raise _Unsimulated("Transaction contains more than one operation")
    return envelope


def _mode(envelope: Envelope, mode: str) -> str:
    """The auth mode, chosen by the operation when none is given."""
    body = envelope.tx.operations[0].body
    if mode and mode not in AUTH_MODES:
        raise _Unsimulated(f"optional 'authMode' must be one of {','.join(AUTH_MODES)} when included")
    if body.extend_footprint_ttl_op is not None:
        return _checked_extension(envelope, mode)
    call = body.invoke_host_function_op
    if call is None or call.host_function.invoke_contract is None:
        raise _Unsimulated(f"transaction contains unsupported operation type: {body.type.name}")
    if call.auth and mode.startswith("record"):
        raise _Unsimulated(f"cannot set authMode to '{mode}' with an auth footprint")
    if has_memo(envelope):
        raise _Unsimulated("non-source auth Soroban tx uses memo or muxed source account")
    return mode or ("enforce" if call.auth else "record")


def _checked_extension(envelope: Envelope, mode: str) -> str:
    if mode:
        raise _Unsimulated("cannot set authMode with non-InvokeHostFunction operations")
    if envelope.soroban_data is None:
        raise _Unsimulated(
            "To perform a SimulateTransaction for ExtendFootprintTtl or RestoreFootprint operations,"
            " SorobanTransactionData must be provided"
        )
    return mode


def _upgraded(state: ChainState, params: Json) -> bool:
    if state.credentials == "by-flag":
        return params.get("useUpgradedAuth") is True
    return state.credentials == "v2"


def _call(envelope: Envelope, mode: str, upgraded: bool) -> host.Call:
    args, entries = envelope.contract_call()
    source = envelope.tx.operations[0].source_account
    sender = address_of(source) if source else envelope.source
    return host.Call(args, sender, entries, recording=mode != "enforce", upgraded=upgraded)


@dataclass(frozen=True)
class _Reply:
    at: int

    def failure(self, contract: str, error: HostError) -> Json:
        shown = xdrout.error_diagnostics(contract, error.message)
        return {
            "error": error.text,
            "events": [event.to_xdr() for event in shown],
            "latestLedger": self.at,
        }

    def success(self, call: host.Call, effects: host.Effects) -> Json:
        read_only = [key for raw, key in sorted(effects.read_only.items()) if raw not in effects.read_write]
        read_write = [key for _, key in sorted(effects.read_write.items())]
        shown = xdrout.diagnostics(call.args, effects.events, effects.value)
        return {
            **self._needed(read_only, read_write),
            "events": [event.to_xdr() for event in shown],
            "results": [{"auth": [entry.to_xdr() for entry in effects.auth], "xdr": effects.value.to_xdr()}],
            "latestLedger": self.at,
        }

    def extension(self, footprint: xdr.LedgerFootprint) -> Json:
        needed = self._needed(footprint.read_only, footprint.read_write)
        return {**needed, "latestLedger": self.at}

    def _needed(self, read_only: list[xdr.LedgerKey], read_write: list[xdr.LedgerKey]) -> Json:
        data = xdrout.soroban_data(read_only, read_write)
        return {"transactionData": data.to_xdr(), "minResourceFee": str(xdrout.RESOURCE_FEE)}
