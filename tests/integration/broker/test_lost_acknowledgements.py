"""A consumer over Redis whose acknowledgement is lost with Redis takes messages all the same (C1, C5)."""

import logging
from contextlib import suppress
from typing import Any

from kombu import Queue

from provider.broker.app import make_app
from provider.services import Registry
from provider.settings import Settings
from tests.support.processes import wait_until
from tests.support.redis_server import RedisServer

log = logging.getLogger(__name__)


def test_a_lost_acknowledgement_leaves_no_consumer_deaf(own_redis: RedisServer) -> None:
    """A worker of one process took nothing any more, until it was restarted."""
    app = make_app(Settings(pay_to="", broker_url=own_redis.url), Registry())
    taken: list[Any] = []
    with app.connection_for_read() as connection:
        channel, queue = connection.channel(), Queue("q", routing_key="q")
        channel.basic_qos(0, 1, False)
        connection.Consumer([queue], channel=channel, on_message=taken.append).consume()

        def takes(count: int) -> bool:
            with suppress(*connection.connection_errors):
                connection.drain_events(timeout=0.1)
            return len(taken) == count

        for _ in range(2):
            connection.Producer().publish("", routing_key="q", exchange="")
        assert wait_until(lambda: takes(1))
        own_redis.kill()
        taken[0].ack_log_error(log, connection.connection_errors)
        own_redis.start()
        assert wait_until(lambda: takes(2))
