"""Where all processes share one reading of the ledger clock (standard §10, end)."""

from provider.jobs.store import keys
from provider.jobs.store.client import reaching_redis
from provider.jobs.store.jobs import JobStore


class LedgerCache:
    """The clock's cache in Redis; implements `provider.chain.clock.Cache`."""

    def __init__(self, store: JobStore) -> None:
        self._store, self._client = store, store.client

    def get(self) -> str | None:
        """Return the reading, "" while the RPC is away, or None when it has to be asked."""
        with reaching_redis():
            text: str | None = self._client.get(keys.CLOCK)  # type: ignore[assignment]
        return text

    def set(self, text: str, seconds: float) -> None:
        """Keep a reading for some seconds."""
        self._store.write("SET", keys.CLOCK, text, "PX", max(1, int(seconds * 1000)))
