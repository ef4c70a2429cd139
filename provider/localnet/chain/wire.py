"""What JSON-RPC requests and replies have in common: parameters in, transactions and ledgers out."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

from stellar_sdk import xdr

from provider.localnet.chain.errors import CaptiveCoreError, InvalidParams, InvalidRequest, JsonRpcError
from provider.localnet.chain.model import Applied, Ledger

MAX_KEYS = 200
HASH_DIGITS = 64

Json = dict[str, Any]

NOT_FOUND: Json = {
    "status": "NOT_FOUND",
    "applicationOrder": 0,
    "feeBump": False,
    "ledger": 0,
    "createdAt": "0",
}
"""What getTransaction says of a transaction that it does not know: Go's zero values, never left out."""


@dataclass(frozen=True)
class LedgerView:
    """What this call sees of the chain: the last and the first ledger of a node that may lag."""

    latest: Ledger
    oldest: Ledger

    def as_json(self) -> Json:
        return {
            "latestLedger": self.latest.sequence,
            "latestLedgerCloseTime": str(int(self.latest.closed_at)),
            "oldestLedger": self.oldest.sequence,
            "oldestLedgerCloseTime": str(int(self.oldest.closed_at)),
        }


def applied(item: Applied, ledger: Ledger) -> Json:
    events: Json = {"transactionEventsXdr": []}
    if item.successful:
        events["contractEventsXdr"] = [[event.to_xdr() for event in item.events]]
    return {
        "status": "SUCCESS" if item.successful else "FAILED",
        "ledger": item.ledger,
        "createdAt": str(int(ledger.closed_at)),
        "applicationOrder": item.order,
        "feeBump": item.envelope.bump is not None,
        "envelopeXdr": item.envelope.body.to_xdr(),
        "resultXdr": item.result.to_xdr(),
        "resultMetaXdr": item.meta.to_xdr(),
        "diagnosticEventsXdr": [event.to_xdr() for event in item.diagnostics],
        "events": events,
    }


def request(body: bytes) -> Json:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise JsonRpcError(-32700, "invalid request value") from error
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        raise InvalidRequest("invalid request")
    return request


def text(params: Json, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise InvalidParams(f"{name} must be a string")
    return value


def _ledger_key(text: object, index: int) -> xdr.LedgerKey:
    try:
        key = xdr.LedgerKey.from_xdr_bytes(base64.b64decode(str(text), validate=True))
    except Exception as error:  # The decoder raises a dozen types for hostile bytes.
        raise InvalidParams(f"cannot unmarshal key value {text} at index {index}") from error
    if key.type == xdr.LedgerEntryType.TTL:
        raise InvalidParams("ledger ttl entries cannot be queried directly")
    return key


def ledger_keys(params: Json) -> dict[str, xdr.LedgerKey]:
    """The keys of a request under the text they came as, which the reply repeats.

    stellar-core refuses a key that comes twice ("Duplicate keys", QueryServer.cpp:344-349), and its RPC
    passes on the status alone.
    """
    texts = params.get("keys")
    if not isinstance(texts, list):
        raise InvalidParams("keys must be an array")
    if len(texts) > MAX_KEYS:
        raise InvalidParams(f"key count ({len(texts)}) exceeds maximum supported ({MAX_KEYS})")
    keys = {text: _ledger_key(text, index) for index, text in enumerate(texts)}
    if not texts:
        raise CaptiveCoreError("no keys specified in request")
    if len({key.to_xdr_bytes() for key in keys.values()}) < len(texts):
        raise CaptiveCoreError("http request failed with non-200 status code (404)")
    return keys


def tx_hash(params: Json) -> str:
    value = text(params, "hash")
    if len(value) != HASH_DIGITS:
        raise InvalidParams(f"unexpected hash length ({len(value)})")
    try:
        return bytes.fromhex(value).hex()
    except ValueError as error:
        raise InvalidParams(f"incorrect hash: {error}") from error
