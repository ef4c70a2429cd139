"""The faults that can be switched on, each for a method and a number of calls."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from provider.localnet.chain.errors import UnknownFault

METHODS = (
    "getLatestLedger",
    "getHealth",
    "getNetwork",
    "getLedgerEntries",
    "simulateTransaction",
    "sendTransaction",
    "getTransaction",
    "getTransactions",
    "getEvents",
)
HEAVY = "getTransactions"
"""The method that reads most, and so reaches a limit first."""


@dataclass(frozen=True)
class Kind:
    """What a fault does, the method it hits (None: every one), how often (None: until cleared).

    `only` are the methods that it can hit at all; empty means any.
    """

    meaning: str
    method: str | None = "sendTransaction"
    count: int | None = 1
    params: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()


KINDS: dict[str, Kind] = {
    "drop_send_reply": Kind("take the transaction, then break the connection"),
    "drop_send_request": Kind("break the connection, the transaction is not taken"),
    "late_reply": Kind("answer `seconds` later", params={"seconds": 5.0}),
    "try_again_later": Kind("answer TRY_AGAIN_LATER, the transaction is not taken"),
    "duplicate": Kind("answer DUPLICATE; the transaction is taken if `accept`", params={"accept": True}),
    "never_confirm": Kind("answer PENDING, the transaction is never included"),
    "delay_confirm": Kind("answer PENDING, include `ledgers` later than usual", params={"ledgers": 5}),
    "fail_next": Kind("answer PENDING, include as FAILED; the nonce stays unused"),
    "filtered": Kind("refuse the transaction as a core does that filters its kind; it is not taken"),
    "rpc_down": Kind(
        "answer nothing useful: `mode` is http500, http503 (queue full), http504 (after 25 s), reset or "
        "timeout (`seconds`, then a broken connection)",
        method=None,
        count=None,
        params={"mode": "http500", "seconds": 30.0},
    ),
    "lag": Kind(
        "be `ledgers` behind, with the state of then", method=None, count=None, params={"ledgers": 3}
    ),
    "prune": Kind("forget everything before ledger `oldest`", method=None, count=None, params={"oldest": 0}),
    "processing_limit": Kind("the error of a call that took too long", method=HEAVY, count=None),
    "queue_limit": Kind(
        "the error of a method with `limit` calls under way", method=HEAVY, count=None, params={"limit": 1000}
    ),
    "database_error": Kind(
        "the error of a failing database", method=HEAVY, count=None, params={"message": "database is locked"}
    ),
    "captive_core": Kind(
        "the error of a core that does not answer its RPC", method="getLedgerEntries", count=None
    ),
    "page_limit": Kind(
        "take no pages of more than `limit`",
        method=HEAVY,
        count=None,
        params={"limit": 100},
        only=(HEAVY, "getEvents"),
    ),
    "missing_metadata": Kind(
        "be without the metadata of `ledger`, or of the first one asked for",
        method=HEAVY,
        count=None,
        params={"ledger": 0},
        only=(HEAVY,),
    ),
    "hide_settings": Kind(
        "leave network settings out", method="getLedgerEntries", count=None, only=("getLedgerEntries",)
    ),
    "lose_events": Kind("answer getEvents without the events", method="getEvents", count=None),
}
MODES = ("http500", "http503", "http504", "reset", "timeout")


@dataclass
class Fault:
    """An active fault; `count` calls are left, None for no limit."""

    name: str
    method: str | None
    count: int | None
    params: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "method": self.method, "count": self.count, **self.params}


class Faults:
    """The active faults; of several that fit, the oldest acts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: list[Fault] = []

    def add(self, name: str, **given: Any) -> Fault:
        """Switch a fault on. `method`, `count` and parameters default as in KINDS. Raises UnknownFault."""
        kind = KINDS.get(name)
        if kind is None:
            raise UnknownFault(f"no fault {name!r}; there are {', '.join(KINDS)}")
        method, count = given.pop("method", kind.method), given.pop("count", kind.count)
        strange = given.keys() - kind.params.keys()
        if strange:
            raise UnknownFault(f"{name} has no parameter {', '.join(sorted(strange))}")
        fault = Fault(name, method, count, {**kind.params, **given})
        _check(fault)
        with self._lock:
            self._active.append(fault)
        return fault

    def take(self, name: str, method: str) -> Fault | None:
        """The fault that hits this call, counted down."""
        with self._lock:
            for fault in self._active:
                if fault.name == name and fault.method in (None, method):
                    if fault.count is not None:
                        fault.count -= 1
                    self._active = [item for item in self._active if item.count != 0]
                    return fault
        return None

    def listed(self) -> list[Fault]:
        with self._lock:
            return list(self._active)

    def clear(self, name: str | None = None) -> None:
        """Switch off one kind, or all."""
        with self._lock:
            self._active = [item for item in self._active if name not in (None, item.name)]


def _check(fault: Fault) -> None:
    """Refuse a switch that could never work, rather than let a test pass without its fault."""
    if fault.method is not None and fault.method not in METHODS:
        raise UnknownFault(f"no method {fault.method!r}; there are {', '.join(METHODS)}")
    only = KINDS[fault.name].only
    if only and fault.method not in only:
        raise UnknownFault(f"{fault.name} is a fault of {', '.join(only)}")
    if fault.count is not None and (type(fault.count) is not int or fault.count < 1):
        raise UnknownFault("count must be a positive number, or null for no limit")
    for name, value in fault.params.items():
        wanted = KINDS[fault.name].params[name]
        if isinstance(wanted, bool) != isinstance(value, bool) or isinstance(wanted, str) != isinstance(
            value, str
        ):
            raise UnknownFault(f"{name} must look like {wanted!r}")
        if not isinstance(value, (str, int, float)) or (not isinstance(value, str) and value < 0):
            raise UnknownFault(f"{name} must look like {wanted!r}")
    if fault.params.get("mode", "http500") not in MODES:
        raise UnknownFault(f"mode must be one of {', '.join(MODES)}")
