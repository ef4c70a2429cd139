"""How long ledgers take now: what a payer and a facilitator have to agree on (facts A5.10)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from provider.chain.rpc import Health, StellarRpc
from provider.errors import RpcError, RpcUnreachable

SAMPLE_LEDGERS = 20
"""As many as the reference client and facilitator look at."""
LEAST_LEDGERS = 10
"""Close times are whole seconds: fewer ledgers show too little."""
DEFAULT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The latest ledger, and the mean seconds of the last ones."""

    latest_ledger: int
    seconds: float

    @property
    def rounded_up(self) -> int:
        """Whole seconds, rounded as the reference does: an authorisation rather ends early than late."""
        return max(1, math.ceil(self.seconds))


@dataclass(frozen=True, slots=True)
class _Closed:
    ledger: int
    at: float


def read_pace(rpc: StellarRpc) -> Pace:
    """Measure the last ledgers; where the RPC knows too few close times, all that it remembers, else 5 s.

    Raises:
        RpcError: if the RPC names no latest ledger.
    """
    try:
        health = rpc.call("getHealth")
    except RpcUnreachable:
        raise
    except RpcError:  # It finds itself too far behind to be healthy, and still knows its latest ledger.
        return Pace(_number(rpc.call("getLatestLedger"), "sequence"), DEFAULT_SECONDS)
    latest = _number(health, "latestLedger")
    newest, oldest = _closed(health, "latest"), _closed(health, "oldest")
    if newest is None:
        return Pace(latest, DEFAULT_SECONDS)
    return Pace(latest, _seconds(rpc, oldest, newest) or DEFAULT_SECONDS)


def ledger_seconds(rpc: StellarRpc, health: Health) -> float | None:
    """Return the mean seconds of the last ledgers, else of all that the RPC remembers; None if unknown."""
    if health.latest_close_time is None:
        return None
    oldest = None
    if health.oldest_close_time is not None:
        oldest = _Closed(health.oldest_ledger, health.oldest_close_time)
    return _seconds(rpc, oldest, _Closed(health.latest_ledger, health.latest_close_time))


def _seconds(rpc: StellarRpc, oldest: _Closed | None, newest: _Closed) -> float | None:
    recent = _mean(_recent(rpc, newest.ledger), newest, LEAST_LEDGERS)
    return recent or _mean(oldest, newest, 1)


def _recent(rpc: StellarRpc, latest: int) -> _Closed | None:
    """Find when one of the last ledgers closed: the first event of the sample says so, and costs little."""
    first = max(1, latest - SAMPLE_LEDGERS + 1)
    try:
        page = rpc.call("getEvents", {"startLedger": first, "filters": [], "pagination": {"limit": 1}})
        event = page["events"][0]
        closed = datetime.fromisoformat(event["ledgerClosedAt"])
        return _Closed(_number(event, "ledger"), closed.timestamp())
    except (RpcError, LookupError, TypeError, ValueError):
        return None


def _mean(first: _Closed | None, last: _Closed, least: int) -> float | None:
    """Return the seconds of a ledger between two of them, if they are far enough apart."""
    if first is None or last.ledger - first.ledger < least or last.at <= first.at:
        return None
    return (last.at - first.at) / (last.ledger - first.ledger)


def _closed(health: Mapping[str, Any], which: str) -> _Closed | None:
    try:
        return _Closed(_number(health, f"{which}Ledger"), float(health[f"{which}LedgerCloseTime"]))
    except (RpcError, KeyError, TypeError, ValueError):
        return None


def _number(answer: Mapping[str, Any], name: str) -> int:
    value = answer.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise RpcError(f"the answer has no {name}")
    return value
