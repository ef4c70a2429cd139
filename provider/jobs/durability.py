"""Making sure that a write is on disk before money moves (C7)."""

from redis import Redis
from redis.exceptions import RedisError

from provider.errors import NotDurable, StoreUnavailable


class Durability:
    """Confirms that what was written before is durable.

    With `appendfsync always` a reply already means so. Otherwise `WAITAOF` (Redis 7.2) has to confirm it.
    """

    def __init__(self, client: "Redis", *, timeout_ms: int) -> None:
        self._client = client
        self._timeout_ms = timeout_ms
        self._always: bool | None = None

    def confirm(self) -> None:
        """Return once every earlier write of this connection's server is on disk.

        Raises NotDurable when that was not confirmed in time, StoreUnavailable when Redis does not answer.
        """
        try:
            if self._fsyncs_always():
                return
            local, _ = self._client.execute_command("WAITAOF", 1, 0, self._timeout_ms)
        except RedisError as error:
            if "unknown command" in str(error) or "appendonly" in str(error):
                raise NotDurable("Redis cannot confirm writes: set appendfsync always.") from error
            raise StoreUnavailable from error
        if local < 1:
            raise NotDurable

    def _fsyncs_always(self) -> bool:
        if self._always is None:
            config = self._client.config_get("append*")
            self._always = config.get("appendonly") == "yes" and config.get("appendfsync") == "always"
        return self._always
