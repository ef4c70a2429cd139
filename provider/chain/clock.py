"""The ledger clock: which ledger is the latest, and when another one will close (standard §10, end).

The reading is shared through a cache for about a ledger's length, so that many processes make few calls.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol

from provider.chain.pace import ledger_seconds
from provider.chain.rpc import StellarRpc
from provider.errors import RpcError


class Cache(Protocol):
    """Where processes share a reading; `set` keeps it for the given time."""

    def get(self) -> str | None: ...

    def set(self, text: str, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class LedgerTime:
    """One reading. Times are Unix seconds."""

    latest_ledger: int
    closed_at: float
    ledger_seconds: float
    """Measured seconds per ledger."""

    def seconds_until(self, ledger: int) -> float:
        """Estimate how long until a ledger closes, counted from a reading that may be a ledger old.

        It takes no clock of this machine into account, so that a wrong one harms nobody (C6).
        """
        return (ledger - self.latest_ledger - 1) * self.ledger_seconds


class LedgerClock:
    """Reads the latest ledger. Without an RPC, or while it is away, there is no answer."""

    def __init__(
        self,
        rpc: StellarRpc | None,
        cache: Cache,
        *,
        ledger_seconds: float = 5.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._rpc = rpc
        self._cache = cache
        self._default_seconds = ledger_seconds
        self._now = now
        self._asking = threading.Lock()

    def read(self) -> LedgerTime | None:
        """Give the latest ledger, at most about a ledger old; None when it is unknown."""
        if self._rpc is None:
            return None
        if (cached := self._cache.get()) is not None:
            return _reading(cached)
        with self._asking:  # While an RPC is slow, one caller waits for it and all others for that one.
            cached = self._cache.get()
            return self._asked(self._rpc) if cached is None else _reading(cached)

    def _asked(self, rpc: StellarRpc) -> LedgerTime | None:
        reading = self._ask(rpc)
        text = json.dumps(asdict(reading)) if reading else ""
        self._cache.set(text, reading.ledger_seconds if reading else self._default_seconds)
        return reading

    def _ask(self, rpc: StellarRpc) -> LedgerTime | None:
        try:
            health = rpc.health()
        except (RpcError, KeyError, ValueError):
            return None
        closed_at = health.latest_close_time
        seconds = max(0.1, ledger_seconds(rpc, health) or self._default_seconds)
        return LedgerTime(health.latest_ledger, self._now() if closed_at is None else closed_at, seconds)


def _reading(cached: str) -> LedgerTime | None:
    return LedgerTime(**json.loads(cached)) if cached else None
