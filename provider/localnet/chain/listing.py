"""getTransactions: everything that was applied from a ledger on, page by page."""

from __future__ import annotations

from typing import Any

from provider.localnet.chain import wire
from provider.localnet.chain.errors import InvalidParams, InvalidRequest
from provider.localnet.chain.model import Applied
from provider.localnet.chain.state import ChainState

DEFAULT_LIMIT, MAX_LIMIT = 50, 200

Json = dict[str, Any]


def transactions(state: ChainState, params: Json, view: wire.View) -> Json:
    """One page, and the cursor of its last transaction."""
    after, limit = _start(params, view), _limit(params)
    with state.lock:
        listed = [item for item in state.applied if _toid(item) > after and _is_seen(item, view)]
    page = sorted(listed, key=_toid)[:limit]
    cursor = _toid(page[-1]) if page else max(after, (view.latest.sequence + 1 << 32) - 1)
    return {
        "transactions": [
            {"txHash": item.envelope.hash.hex(), **wire.applied(item, state.ledger(item.ledger))}
            for item in page
        ],
        "cursor": str(cursor),
        "latestLedger": view.latest.sequence,
        "latestLedgerCloseTimestamp": int(view.latest.closed_at),
        "oldestLedger": view.oldest.sequence,
        "oldestLedgerCloseTimestamp": int(view.oldest.closed_at),
    }


def _start(params: Json, view: wire.View) -> int:
    """The position before the first transaction wanted. Raises InvalidRequest outside of the history."""
    cursor = _pagination(params).get("cursor")
    if cursor:
        if not str(cursor).isdecimal():
            raise InvalidParams(f"invalid cursor {cursor}")
        return int(cursor)
    start = params.get("startLedger")
    oldest, latest = view.oldest.sequence, view.latest.sequence
    if type(start) is not int or not oldest <= start <= latest:
        raise InvalidRequest(
            f"start ledger must be between the oldest ledger: {oldest} and the latest ledger: {latest}"
        )
    return (start << 32) - 1


def _limit(params: Json) -> int:
    limit = _pagination(params).get("limit") or DEFAULT_LIMIT
    if type(limit) is not int or not 0 < limit <= MAX_LIMIT:
        raise InvalidParams(f"limit must not exceed {MAX_LIMIT}")
    return limit


def _pagination(params: Json) -> Json:
    pagination = params.get("pagination") or {}
    if not isinstance(pagination, dict):
        raise InvalidParams("pagination must be an object")
    return pagination


def _toid(item: Applied) -> int:
    return item.ledger << 32 | item.order << 12


def _is_seen(item: Applied, view: wire.View) -> bool:
    return view.oldest.sequence <= item.ledger <= view.latest.sequence
