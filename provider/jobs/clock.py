"""Where processes share the ledger clock's reading: one Redis key, for a ledger's length (§10, end)."""

from redis import Redis

from provider.jobs import keys
from provider.jobs.store import reaching_redis


class ClockCache:
    """The `Cache` of `provider.chain.clock.LedgerClock`, in Redis."""

    def __init__(self, client: "Redis") -> None:
        self._client = client

    def get(self) -> str | None:
        """Give the shared reading, None when it is too old."""
        with reaching_redis():
            text: str | None = self._client.get(keys.CLOCK)  # type: ignore[assignment]
        return text

    def set(self, text: str, seconds: float) -> None:
        """Share a reading."""
        with reaching_redis():
            self._client.set(keys.CLOCK, text, px=max(1, int(seconds * 1000)))
