"""How every process comes back to a broker that was away (C5)."""

from typing import Any

from celery.app import amqp
from kombu import connection

RETRY = {"interval_start": 1.0, "interval_step": 0.0, "interval_max": 1.0}
"""Seconds from one try to the next."""


class Connection(connection.Connection):  # type: ignore[misc]
    """A connection that tries once a second.

    Celery names no interval, and no setting does: by Kombu's own a process waits 2 s longer after each try,
    up to 30 s, and would come back that much later than the broker.
    """

    def ensure_connection(self, *args: Any, **given: Any) -> Any:
        """Connect, however often that has to be tried."""
        return super().ensure_connection(*args, **{**RETRY, **given})


class AMQP(amqp.AMQP):  # type: ignore[misc]
    """What an application makes its connections of: `Celery(amqp=AMQP)`."""

    Connection = Connection
