"""getTransactions: everything that was applied from a ledger on, page by page (get_transactions.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from provider.localnet.chain import wire
from provider.localnet.chain.errors import InvalidParams, InvalidRequest
from provider.localnet.chain.model import Applied
from provider.localnet.chain.state import ChainState

DEFAULT_LIMIT, MAX_LIMIT = 50, 200

Json = dict[str, Any]


@dataclass(frozen=True)
class Position:
    """A ledger, and the number of a transaction in it: the first one wanted, or the last one seen."""

    ledger: int
    order: int

    def __str__(self) -> str:
        """A TOID; its operation counts from 1."""
        return str(self.ledger << 32 | self.order << 12 | 1)


def transactions(
    state: ChainState, params: Json, view: wire.LedgerView, most: int = MAX_LIMIT, missing: int | None = None
) -> Json:
    """One page, and the cursor of the last transaction or ledger that was looked at.

    `missing` is a ledger whose metadata the node lacks, 0 for the first one asked for.
    """
    start = _start(params, view)
    limit = _limit(params, most)
    with state.lock:
        applied = [item for item in state.applied if item.ledger <= view.latest.sequence]
    wanted = [item for item in applied if (item.ledger, item.order) >= (start.ledger, start.order)]
    page = wanted[:limit]
    last = page[-1].ledger if len(page) == limit else view.latest.sequence
    _read(start.ledger, last, view.oldest.sequence, start.ledger if missing == 0 else missing)
    return {
        "transactions": [_item(item, state) for item in page],
        "latestLedger": view.latest.sequence,
        "latestLedgerCloseTimestamp": int(view.latest.closed_at),
        "oldestLedger": view.oldest.sequence,
        "oldestLedgerCloseTimestamp": int(view.oldest.closed_at),
        "cursor": str(_cursor(start, page if len(page) == limit else applied, last)),
    }


def _item(item: Applied, state: ChainState) -> Json:
    """Here `createdAt` is a number: a bug that Stellar RPC keeps (go-stellar-sdk get_transaction.go)."""
    closed_at = state.ledger(item.ledger).closed_at
    found = wire.applied(item, state.ledger(item.ledger))
    return {**found, "txHash": item.envelope.hash.hex(), "createdAt": int(closed_at)}


def _start(params: Json, view: wire.LedgerView) -> Position:
    """The first transaction wanted. Raises InvalidRequest for a ledger outside of the history.

    A cursor may lie anywhere: what the node lacks is noticed when it is read.
    """
    cursor, start = _pagination(params).get("cursor"), params.get("startLedger") or 0
    if cursor and start:
        raise InvalidRequest("startLedger and cursor cannot both be set")
    if cursor:
        if not str(cursor).isdecimal():
            raise InvalidParams(f'strconv.ParseInt: parsing "{cursor}": invalid syntax')
        return Position(int(cursor) >> 32, (int(cursor) >> 12 & 0xFFFFF) + 1)
    if type(start) is not int:
        raise InvalidParams("startLedger must be a number")
    oldest, latest = view.oldest.sequence, view.latest.sequence
    if not oldest <= start <= latest:
        raise InvalidRequest(
            f"start ledger must be between the oldest ledger: {oldest} and the latest ledger: {latest} "
            "for this rpc instance"
        )
    return Position(start, 1)


def _limit(params: Json, most: int) -> int:
    limit = _pagination(params).get("limit") or min(DEFAULT_LIMIT, most)
    if type(limit) is not int or limit < 0:
        raise InvalidParams("limit must be a number")
    if limit > most:
        raise InvalidRequest(f"limit must not exceed {most}")
    return limit


def _pagination(params: Json) -> Json:
    pagination = params.get("pagination") or {}
    if not isinstance(pagination, dict):
        raise InvalidParams("pagination must be an object")
    return pagination


def _read(first: int, last: int, oldest: int, missing: int | None) -> None:
    """Fetch the metadata of each ledger in turn. Raises InvalidParams for the first that is not there."""
    absent = [first] if first < oldest else []
    absent += [missing] if missing is not None and first <= missing <= last else []
    if absent and first <= last:
        raise InvalidParams(f"database does not contain metadata for ledger: {min(absent)}")


def _cursor(start: Position, seen: list[Applied], last: int) -> Position | int:
    """The last transaction of the last ledger that was read; 0 when there was none to read."""
    if start.ledger > last:
        return 0
    orders = [item.order for item in seen if item.ledger == last]
    return Position(last, max(orders, default=0))
