"""A broker that refuses connections: consumers try it once a second, publishers once a message (C1, C5)."""

import socket
import time
from collections.abc import Iterator

import pytest
from celery import Celery
from kombu.exceptions import OperationalError

from provider.broker.app import make_app
from provider.broker.dispatcher import CeleryDispatcher
from provider.settings import Settings
from tests.support.jobs import selling

TRIES = 3


@pytest.fixture(params=["redis://{}/0", "amqp://guest:guest@{}//"], ids=["redis", "rabbitmq"])
def app(request: pytest.FixtureRequest) -> Iterator[Celery]:
    """Make the application as processes do, for a broker whose port is taken and never listens."""
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        url = request.param.format(f"127.0.0.1:{port.getsockname()[1]}")
        yield make_app(Settings(pay_to="", broker_url=url), selling("after"))


def test_a_consumer_tries_once_a_second(app: Celery) -> None:
    """C5: back within seconds, however long the broker was away; the waits were 2, 4, 6 … 30 s before."""
    waits: list[float] = []

    def failed(_: Exception, wait: float) -> None:
        waits.append(wait)

    with pytest.raises(OperationalError), app.connection_for_read() as connection:
        connection.ensure_connection(failed, max_retries=TRIES)
    assert waits == [1.0] * TRIES


def test_a_wake_up_is_tried_once(app: Celery) -> None:
    """The sweep publishes again (C1); a call was held for 6 s before, with the job on record."""
    began = time.monotonic()
    CeleryDispatcher(app).handle("after.6f1c")
    assert time.monotonic() - began < 2
