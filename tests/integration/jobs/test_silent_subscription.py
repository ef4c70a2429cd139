"""The subscription of a process: a wait must not depend on a connection that died without a word (J1)."""

from collections.abc import Iterator

import pytest

from provider.jobs.store import keys, subscription
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.subscription import JobEvents, Waiter
from tests.support.redis_server import RedisServer
from tests.support.relay import Relay, start_relay

JOB = "echo." + "0" * 32


@pytest.fixture
def relay(shared_redis: RedisServer) -> Relay:
    """Reach Redis by way of a relay."""
    return start_relay(str(shared_redis.socket))


@pytest.fixture
def waiter(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> Iterator[Waiter]:
    """Listen, in short turns."""
    monkeypatch.setattr(subscription, "QUIET_SECONDS", 0.5)
    with JobEvents(JobStore(connect(relay.url))).waking(Waiter(JOB)) as waiter:
        assert waiter.wait(15)
        yield waiter


def test_a_subscription_that_fell_silent_is_made_anew(waiter: Waiter, relay: Relay, redis_url: str) -> None:
    """Only a ping without an answer shows it, no end of the connection. All waiters are woken then."""
    relay.silence()
    assert waiter.wait(15)
    connect(redis_url).publish(keys.job(JOB), "running")
    assert waiter.wait(15)


def test_a_quiet_subscription_is_kept(waiter: Waiter, relay: Relay, redis_url: str) -> None:
    """Nothing happens for a while, and Redis answers."""
    assert not waiter.wait(2)
    connect(redis_url).publish(keys.job(JOB), "running")
    assert waiter.wait(15)
    assert relay.opened == 1
