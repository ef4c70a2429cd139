"""Making sure that a write is on disk before money moves (C7)."""

import time
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from provider.errors import NotDurable
from provider.jobs.store import keys
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.scripts import script

_FENCE = script("fence")


class Durability:
    """Confirms that what was written before is durable.

    With `appendfsync always` a reply already means so. Otherwise a fence is written and `WAITAOF` (Redis 7.2)
    on the same connection confirms it: what came before the fence is before it in the file too. With
    `everysec` that takes up to two seconds, as measured, and what the disk needs.
    """

    def __init__(self, client: "Redis", *, timeout_ms: int) -> None:
        self._client = client
        self._timeout_ms = timeout_ms
        self._always: dict[str, bool] = {}

    def confirm(self, service: str) -> None:
        """Return once every earlier write to the records of a service is on disk.

        Raises NotDurable when that was not confirmed in time, StoreUnavailable when Redis does not answer.
        """
        with reaching_redis():
            try:
                node = node_of(self._client, keys.fence(service))
                if not self._fsyncs_always(service, node):
                    self._confirm(service, node)
            except ResponseError as error:
                raise NotDurable(f"Redis cannot confirm writes ({error}): set appendfsync always.") from error

    def _confirm(self, service: str, node: "Redis") -> None:
        """Ask until the time is over, each time for less than the connection's own time-out.

        Each time with a new fence: a connection that was replaced meanwhile would have nothing to wait for.
        """
        ends_at = time.monotonic() + self._timeout_ms / 1000
        patience_ms = int((node.connection_pool.connection_kwargs.get("socket_timeout") or 10) * 500)
        while (left_ms := int((ends_at - time.monotonic()) * 1000)) > 0:
            pipe: Any = node.pipeline(transaction=False)
            pipe.eval(_FENCE, 1, keys.fence(service))
            pipe.execute_command("WAITAOF", 1, 0, min(left_ms, patience_ms))
            _, (local, _) = pipe.execute()
            if local >= 1:
                return
        raise NotDurable

    def _fsyncs_always(self, service: str, node: "Redis") -> bool:
        """Ask once a service: nodes of a cluster may differ."""
        if service not in self._always:
            try:
                config = node.config_get("append*")
            except ResponseError:  # Managed offers block CONFIG; WAITAOF shows it.
                config = {}
            self._always[service] = fsyncs_always(config)
        return self._always[service]


def fsyncs_always(config: Any) -> bool:
    """Return by a server's settings whether each reply means that the write is on disk."""
    return bool(config.get("appendonly") == "yes" and config.get("appendfsync") == "always")
