"""Kombu's Redis transport, for a broker that others can write to (standard C1).

Kombu delivers what it finds in a list. What is no message of its own format raises whatever the first look-up
in it leads to, which ends a worker.
"""

from typing import Any

import structlog
from kombu.transport import redis

DROPPED = "broker_message_dropped"
MOST_LOGGED_CHARS = 200

log = structlog.get_logger()


class GuardedChannel(redis.Channel):  # type: ignore[misc]
    """Drops what is not JSON, or breaks while it is read."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            return super()._brpop_read(**options)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            drop(repr(error))
            return True


class GuardedTransport(redis.Transport):  # type: ignore[misc]
    """Drops what is not Kombu's envelope."""

    Channel = GuardedChannel

    def _deliver(self, message: Any, queue: str) -> None:
        if not is_envelope(message):
            drop("not the envelope of a message")
            return
        super()._deliver(message, queue)


def is_envelope(message: Any) -> bool:
    """Return whether a value has the shape that Kombu publishes."""
    if not isinstance(message, dict) or not isinstance(message.get("body"), str):
        return False
    properties, headers = message.get("properties"), message.get("headers")
    if not isinstance(properties, dict) or not isinstance(headers, dict):
        return False
    kinds = (message.get("content-type"), message.get("content-encoding"), properties.get("delivery_tag"))
    return all(isinstance(kind, str) for kind in kinds)


def drop(why: str) -> None:
    """Log a message that is not delivered. It was taken from its list, so it does not come again."""
    log.warning(DROPPED, detail=why[:MOST_LOGGED_CHARS])
