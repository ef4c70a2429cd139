"""Connections and events of Celery that outlive their broker (C5)."""

import math
from typing import Any

from celery.app import amqp, events
from celery.events.dispatcher import EventDispatcher
from kombu.connection import Connection as KombuConnection
from kombu.transport import redis

from provider.broker.redis_transport import GuardedTransport

RETRY = {"interval_start": 1.0, "interval_step": 0.0, "interval_max": 1.0}
"""Seconds from one try to the next."""


class Connection(KombuConnection):  # type: ignore[misc]
    """A connection that tries once a second.

    Celery names no interval, and no setting does: by Kombu's own a process waits 2 s longer after each try,
    up to 30 s, and would come back that much later than the broker.
    """

    def get_transport_cls(self) -> Any:
        """Use the transport that drops what is no message, in place of Kombu's for Redis."""
        found = super().get_transport_cls()
        return GuardedTransport if found is redis.Transport else found

    def ensure_connection(self, *args: Any, **given: Any) -> Any:
        """Connect, however often that has to be tried."""
        return super().ensure_connection(*args, **{**RETRY, **given})


class AMQP(amqp.AMQP):  # type: ignore[misc]
    """Makes these connections."""

    Connection = Connection


class MainThreadDispatcher(EventDispatcher):  # type: ignore[misc]
    """Sends the events of tasks from the main thread alone, however many there are.

    By Celery's own limit the thread that adds the 24th sends them all. Over AMQP it would wait for the
    broker's answer on a connection that the main thread reads, which may take that answer from it.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **{**given, "buffer_limit": math.inf})


class Events(events.Events):  # type: ignore[misc]
    """Makes this dispatcher."""

    dispatcher_cls = MainThreadDispatcher
