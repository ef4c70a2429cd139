"""Fixtures that every test may use."""

from collections.abc import Iterator

import pytest
import redis
import structlog

from tests.support.redis_server import RedisServer, running_redis


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    """Run one durable Redis for the whole session; use `redis_url`, which empties it."""
    with running_redis() as server:
        yield server


@pytest.fixture(autouse=True)
def logs_of_its_own() -> Iterator[None]:
    """Send each test's log lines to pytest, however an earlier test of the process configured them.

    Unconfigured they would be printed, and mix with the output of a command under test.
    """
    structlog.configure(
        processors=[structlog.processors.KeyValueRenderer(key_order=["event"])],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    yield
    structlog.reset_defaults()


@pytest.fixture
def redis_url(shared_redis: RedisServer) -> str:
    """Give the URL of a real, empty Redis."""
    with redis.Redis.from_url(shared_redis.url) as client:
        client.flushall()
        client.script_flush()
    return shared_redis.url


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """Run a Redis that the test may kill or freeze."""
    with running_redis() as server:
        yield server
