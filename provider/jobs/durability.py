"""Making sure that a write is on disk before money moves (C7)."""

from typing import Any

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from provider.errors import NotDurable, StoreUnavailable
from provider.jobs import keys


class Durability:
    """Confirms that what was written before is durable.

    With `appendfsync always` a reply already means so. Otherwise a fence is written and `WAITAOF` (Redis 7.2)
    on the same connection confirms it: what came before the fence is before it in the file too.
    """

    def __init__(self, client: "Redis", *, timeout_ms: int) -> None:
        self._client = client
        self._timeout_ms = timeout_ms
        self._always: bool | None = None

    def confirm(self, service: str) -> None:
        """Return once every earlier write to the records of a service is on disk.

        Raises NotDurable when that was not confirmed in time, StoreUnavailable when Redis does not answer.
        """
        try:
            if self._fsyncs_always():
                return
            pipe: Any = self._client.pipeline(transaction=False)
            pipe.set(keys.fence(service), 1)
            pipe.execute_command("WAITAOF", 1, 0, self._timeout_ms)
            _, (local, _) = pipe.execute()
        except ResponseError as error:
            raise NotDurable(f"Redis cannot confirm writes ({error}): set appendfsync always.") from error
        except RedisError as error:
            raise StoreUnavailable from error
        if local < 1:
            raise NotDurable

    def _fsyncs_always(self) -> bool:
        if self._always is None:
            try:
                config = self._client.config_get("append*")
            except ResponseError:  # Managed offers block CONFIG; WAITAOF will tell.
                config = {}
            self._always = config.get("appendonly") == "yes" and config.get("appendfsync") == "always"
        return self._always
