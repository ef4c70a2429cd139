"""The Stellar RPC methods this project reads, over plain JSON-RPC.

The SDK's `SorobanServer` is made for building transactions and drops the ledger close times that the ledger
clock needs (its `getHealth` model has none), so the read side is this thin client. It believes no answer that
lacks what was asked for: to take a broken answer for "nothing found" could report a paid job as unpaid.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provider.bounded_http import budget, new_session
from provider.errors import RpcError, RpcUnreachable

TOTAL = 3
"""A call may take this many times the time-out of one read: an answer of megabytes does, a byte now and then
is cut off."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
KEPT_CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Health:
    """The range of ledgers an RPC knows. Close times are Unix seconds; None before RPC 27.1."""

    latest_ledger: int
    oldest_ledger: int
    latest_close_time: int | None = None
    oldest_close_time: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A ledger entry: its data (base64 XDR), the ledger of its last change, the last one it lives in."""

    xdr: str
    modified_ledger: int
    live_until_ledger: int | None = None


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries found, by the key they were asked for, as of `latest_ledger`; absent ones are left out."""

    latest_ledger: int
    found: Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction as an RPC knows it; `envelope` and `meta` are base64 XDR."""

    status: str
    """SUCCESS, FAILED or NOT_FOUND."""
    hash: str
    ledger: int | None = None
    envelope: str = field(default="", repr=False)
    meta: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Event:
    """A contract event; topics and value are base64 XDR."""

    ledger: int
    contract: str
    transaction: str
    topics: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page of events or transactions, where the next one starts, and the history it was taken from."""

    items: Sequence[Any]
    cursor: str
    oldest_ledger: int
    latest_ledger: int


Observer = Callable[[str, float], None]
"""Called with the method of each call and its seconds, for metrics."""


class StellarRpc:
    """One Stellar RPC. Raises RpcUnreachable, or RpcError for an error answer."""

    def __init__(self, url: str, *, timeout_seconds: float = 5.0, observer: Observer | None = None) -> None:
        self.url = url
        self._observer = observer
        self._timeout = timeout_seconds
        self._local = threading.local()
        self._session = new_session({}, kept_connections=KEPT_CONNECTIONS)
        self._passphrase: str | None = None

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Make one JSON-RPC 2.0 call and return its result object."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._local.calls = self.calls + 1
        began = time.monotonic()
        try:
            with budget(TOTAL * self._timeout, MAX_ANSWER_BYTES, pause_seconds=self._timeout):
                answer = self._session.post(
                    self.url, json=request, timeout=self._timeout, allow_redirects=False
                )
            answer.raise_for_status()
            body = answer.json()
        except (OSError, ValueError) as error:
            raise RpcUnreachable(f"{method}: {type(error).__name__}") from error
        finally:
            if self._observer is not None:
                self._observer(method, time.monotonic() - began)
        return result_of(method, body)

    @property
    def calls(self) -> int:
        """Count the calls that this thread made."""
        return getattr(self._local, "calls", 0)

    def health(self) -> Health:
        """Read which ledgers the RPC knows (`getHealth`)."""
        name = "getHealth"
        result = self.call(name)
        return Health(
            _number(name, result, "latestLedger"),
            _number(name, result, "oldestLedger"),
            _seconds(result.get("latestLedgerCloseTime")),
            _seconds(result.get("oldestLedgerCloseTime")),
        )

    def passphrase(self) -> str:
        """Read which network this is (`getNetwork`); asked once, since a URL does not change its network."""
        if self._passphrase is None:
            self._passphrase = str(_field("getNetwork", self.call("getNetwork"), "passphrase"))
        return self._passphrase

    def ledger_entries(self, keys: Sequence[str]) -> Entries:
        """Read up to 200 ledger entries (`getLedgerEntries`); keys are canonical base64 XDR."""
        name = "getLedgerEntries"
        result = self.call(name, {"keys": list(keys)})
        items = _field(name, result, "entries") or []
        found = {str(_field(name, item, "key")): _entry(name, item) for item in items}
        if not found.keys() <= set(keys):
            raise RpcError(f"{name}: an entry that was not asked for")
        return Entries(_number(name, result, "latestLedger"), found)

    def transaction(self, tx_hash: str) -> Transaction:
        """Read a transaction by its outer or inner hash (`getTransaction`)."""
        return _transaction("getTransaction", self.call("getTransaction", {"hash": tx_hash}), tx_hash)

    def transactions(self, first: int, cursor: str | None = None, limit: int = 200) -> Page:
        """Read the transactions from ledger `first` on, or those after a cursor (`getTransactions`)."""
        name = "getTransactions"
        start = {"pagination": {"cursor": cursor, "limit": limit}} if cursor else _range(first, None, limit)
        result = self.call(name, start)
        items = [_transaction(name, item, "") for item in _field(name, result, "transactions") or []]
        if any(item.ledger is None for item in items):
            raise RpcError(f"{name}: a transaction without a ledger")
        return _page(name, result, items)

    def events(
        self,
        filters: Sequence[Mapping[str, Any]],
        *,
        first: int,
        last: int,
        cursor: str | None = None,
        limit: int = 1000,
    ) -> Page:
        """Read events of the ledgers first to last, both included, or those after a cursor (`getEvents`)."""
        name = "getEvents"
        start = {"pagination": {"cursor": cursor, "limit": limit}} if cursor else _range(first, last, limit)
        result = self.call(name, {**start, "filters": list(filters)})
        return _page(name, result, [_event(name, item) for item in _field(name, result, "events") or []])


def _range(first: int, last: int | None, limit: int) -> dict[str, Any]:
    end = {} if last is None else {"endLedger": last + 1}
    return {"startLedger": first, **end, "pagination": {"limit": limit}}


def result_of(method: str, body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise RpcUnreachable(f"{method}: not a JSON-RPC answer")
    if body.get("error") is not None:
        error = body["error"]
        text = str(error.get("message", "")) if isinstance(error, dict) else str(error)
        raise RpcError(f"{method}: {text[:300]}")
    result = body.get("result")
    if not isinstance(result, dict):
        raise RpcUnreachable(f"{method}: an answer without a result")
    return result


def _seconds(value: Any) -> int | None:
    """Read a close time, which is a number or the text of one."""
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,15}", str(value)):
        raise RpcError("getHealth: a close time is no number")
    return int(value)


def _field(method: str, item: Any, name: str) -> Any:
    if not isinstance(item, dict) or name not in item:
        raise RpcError(f"{method}: an answer without {name}")
    return item[name]


def _number(method: str, item: Any, name: str) -> int:
    value = _field(method, item, name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise RpcError(f"{method}: {name} is no ledger")
    return value


def _entry(method: str, item: Any) -> Entry:
    live = item.get("liveUntilLedgerSeq")
    modified = _number(method, item, "lastModifiedLedgerSeq")
    return Entry(str(_field(method, item, "xdr")), modified, live if isinstance(live, int) else None)


def _transaction(method: str, item: Any, tx_hash: str) -> Transaction:
    status = str(_field(method, item, "status"))
    if status == "NOT_FOUND":
        return Transaction(status, tx_hash)
    envelope, meta = _field(method, item, "envelopeXdr"), item.get("resultMetaXdr") or ""
    name = str(item.get("txHash") or tx_hash)
    return Transaction(status, name, _number(method, item, "ledger"), str(envelope), str(meta))


def _event(method: str, item: Any) -> Event:
    contract, tx_hash, value = (str(_field(method, item, name)) for name in ("contractId", "txHash", "value"))
    topics = tuple(str(topic) for topic in _field(method, item, "topic") or [])
    return Event(_number(method, item, "ledger"), contract, tx_hash, topics, value)


def _page(method: str, result: dict[str, Any], items: Sequence[Any]) -> Page:
    oldest, latest = (_number(method, result, name) for name in ("oldestLedger", "latestLedger"))
    return Page(items, str(_field(method, result, "cursor")), oldest, latest)
