"""JSON-RPC: dispatch, parameters, replies. Field names and types follow Stellar RPC (facts B3)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from stellar_sdk import xdr

from provider.localnet.chain import events, listing, simulation, wire
from provider.localnet.chain.envelope import Envelope, MalformedEnvelope
from provider.localnet.chain.errors import (
    BrokenConnection,
    InternalError,
    InvalidParams,
    JsonRpcError,
    ServerDown,
)
from provider.localnet.chain.faults import Faults
from provider.localnet.chain.refusals import raise_refusal
from provider.localnet.chain.state import ChainState

UNHEALTHY_SECONDS = 30
NO_EXTENSION = "AAAAAA=="
"""Of an entry without a sponsor."""

Json = dict[str, Any]


class Rpc:
    """Answers request bodies. `pause` waits, for the faults that take time."""

    def __init__(
        self, state: ChainState, faults: Faults, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.state, self.faults, self._pause = state, faults, pause
        self._methods: dict[str, Callable[[Json, wire.LedgerView], Json]] = {
            "getLatestLedger": self._get_latest_ledger,
            "getHealth": self._get_health,
            "getNetwork": self._get_network,
            "getLedgerEntries": self._get_ledger_entries,
            "simulateTransaction": self._simulate_transaction,
            "sendTransaction": self._send_transaction,
            "getTransaction": self._get_transaction,
            "getTransactions": self._get_transactions,
            "getEvents": self._get_events,
        }

    def answer(self, body: bytes) -> bytes:
        """The reply to one request. Raises BrokenConnection or ServerDown where a fault says so."""
        reply: Json = {"jsonrpc": "2.0", "id": None}
        try:
            request = wire.request(body)
            reply["id"] = request.get("id")
            reply["result"] = self.call(str(request.get("method")), request.get("params"))
        except JsonRpcError as error:
            reply["error"] = {"code": error.code, "message": str(error)}
        return json.dumps(reply).encode()

    def call(self, method: str, params: Json | None = None) -> Json:
        """One method, without the envelope. Raises JsonRpcError."""
        if method not in self._methods:
            raise JsonRpcError(-32601, "method not found")
        if not isinstance(params, dict | None):
            raise InvalidParams("parameters must be an object")
        self._refuse_service(method)
        raise_refusal(self.faults, method)
        result = self._methods[method](params or {}, self._view(method))
        late = self.faults.take("late_reply", method)
        if late:
            self._pause(late.params["seconds"])
        if self.faults.take("drop_send_reply", method):
            raise BrokenConnection
        return result

    def _refuse_service(self, method: str) -> None:
        if self.faults.take("drop_send_request", method):
            raise BrokenConnection
        down = self.faults.take("rpc_down", method)
        if down is None:
            return
        mode = str(down.params["mode"])
        if mode.startswith("http"):
            raise ServerDown(int(mode.removeprefix("http")))
        if mode == "timeout":
            self._pause(down.params["seconds"])
        raise BrokenConnection

    def _view(self, method: str) -> wire.LedgerView:
        with self.state.lock:
            self.state.tick()
            lag, prune = self.faults.take("lag", method), self.faults.take("prune", method)
            first = self.state.config.start_ledger
            latest = max(first, self.state.latest.sequence - int(lag.params["ledgers"] if lag else 0))
            oldest = max(self.state.oldest(latest), int(prune.params["oldest"] if prune else 0))
            return wire.LedgerView(self.state.ledger(latest), self.state.ledger(min(oldest, latest)))

    def _get_latest_ledger(self, params: Json, view: wire.LedgerView) -> Json:
        return {
            "id": view.latest.hash,
            "protocolVersion": self.state.config.protocol_version,
            "sequence": view.latest.sequence,
            "closeTime": str(int(view.latest.closed_at)),
            "headerXdr": "",
            "metadataXdr": "",
        }

    def _get_health(self, params: Json, view: wire.LedgerView) -> Json:
        age = self.state.now() - view.latest.closed_at
        if age > max(UNHEALTHY_SECONDS, 2 * self.state.config.ledger_seconds):
            message = (
                f"latency ({int(age)}s) since last known ledger closed is too high (>{UNHEALTHY_SECONDS}s)"
            )
            raise JsonRpcError(-32603, message)
        window = {"ledgerRetentionWindow": self.state.config.retention}
        return {"status": "healthy", **view.as_json(), **window}

    def _get_network(self, params: Json, view: wire.LedgerView) -> Json:
        return {
            "passphrase": self.state.config.passphrase,
            "protocolVersion": self.state.config.protocol_version,
        }

    def _get_ledger_entries(self, params: Json, view: wire.LedgerView) -> Json:
        """Entries come in the order of the request; missing ones are left out."""
        wanted = wire.ledger_keys(params)
        if self.faults.take("hide_settings", "getLedgerEntries"):
            wanted = {text: key for text, key in wanted.items() if key.config_setting is None}
        with self.state.lock:
            world = self.state.snapshot(view.latest.sequence)
            found = {text: world.entry(key) for text, key in wanted.items()}
        entries = []
        for text, entry in found.items():
            if entry is not None:
                item = {
                    "key": text,
                    "xdr": entry.data.to_xdr(),
                    "lastModifiedLedgerSeq": entry.modified,
                    "extXdr": NO_EXTENSION,
                }
                last = entry.live_until
                entries.append(item if last is None else {**item, "liveUntilLedgerSeq": last})
        return {"entries": entries, "latestLedger": view.latest.sequence}

    def _simulate_transaction(self, params: Json, view: wire.LedgerView) -> Json:
        text = wire.text(params, "transaction")
        return simulation.simulate(self.state, text, params, view.latest.sequence)

    def _send_transaction(self, params: Json, view: wire.LedgerView) -> Json:
        try:
            envelope = Envelope.parse(wire.text(params, "transaction"), self.state.config.passphrase)
        except MalformedEnvelope as error:
            raise InvalidParams("invalid_xdr") from error
        with self.state.lock:
            status, result = self._send(envelope)
        reply = {
            "status": status,
            "hash": envelope.hash.hex(),
            "latestLedger": view.latest.sequence,
            "latestLedgerCloseTime": str(int(view.latest.closed_at)),
        }
        return reply if result is None else {**reply, "errorResultXdr": result.to_xdr()}

    def _send(self, envelope: Envelope) -> tuple[str, xdr.TransactionResult | None]:
        """Offer it to the queue, with the faults that concern the queue."""
        method = "sendTransaction"
        if self.faults.take("try_again_later", method):
            return "TRY_AGAIN_LATER", None
        if self.faults.take("filtered", method):
            raise InternalError("invalid status from stellar-core")
        duplicate = self.faults.take("duplicate", method)
        if duplicate and not duplicate.params["accept"]:
            return "DUPLICATE", None
        status, result = self.state.submit(envelope)
        item = self.state.pending(envelope.hash)
        if status != "PENDING" or item is None:
            return status, result
        if self.faults.take("never_confirm", method):
            self.state.forget(envelope.hash)
        delay = self.faults.take("delay_confirm", method)
        if delay:
            item.not_before = self.state.latest.sequence + 1 + int(delay.params["ledgers"])
        item.fail = self.faults.take("fail_next", method) is not None
        return ("DUPLICATE" if duplicate else status), None

    def _get_transaction(self, params: Json, view: wire.LedgerView) -> Json:
        tx_hash = wire.tx_hash(params)
        reply = {**view.as_json(), "txHash": tx_hash, **wire.NOT_FOUND}
        found = self.state.transaction(tx_hash.lower())
        if found is None or not view.oldest.sequence <= found.ledger <= view.latest.sequence:
            return reply
        return {**reply, **wire.applied(found, self.state.ledger(found.ledger))}

    def _get_transactions(self, params: Json, view: wire.LedgerView) -> Json:
        method = "getTransactions"
        missing = self.faults.take("missing_metadata", method)
        return listing.transactions(
            self.state,
            params,
            view,
            most=self._page_limit(method, listing.MAX_LIMIT),
            missing=None if missing is None else int(missing.params["ledger"]),
        )

    def _page_limit(self, method: str, most: int) -> int:
        fault = self.faults.take("page_limit", method)
        return most if fault is None else int(fault.params["limit"])

    def _get_events(self, params: Json, view: wire.LedgerView) -> Json:
        query = events.parse(params, self._page_limit("getEvents", events.MAX_LIMIT))
        start, end = query.span(view.oldest.sequence, view.latest.sequence)
        with self.state.lock:
            applied = [item for item in self.state.applied if start <= item.ledger < end]
        found, cursor = query.page(applied, end, self.state.ledger)
        if self.faults.take("lose_events", "getEvents"):
            found = []
        return {"events": found, "cursor": cursor, **view.as_json()}
