"""The subscription of a process: who waits must not depend on a connection that died without a word (J1)."""

import pytest

from provider.jobs.store import keys, subscription
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.subscription import JobEvents
from tests.support.processes import wait_until
from tests.support.redis_server import RedisServer
from tests.support.relay import Relay, start_relay

JOB = "echo." + "0" * 32


@pytest.fixture
def relay(shared_redis: RedisServer) -> Relay:
    """Reach Redis by way of a relay."""
    return start_relay(str(shared_redis.socket))


@pytest.fixture
def heard(relay: Relay, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Listen, in short turns."""
    monkeypatch.setattr(subscription, "QUIET_SECONDS", 0.5)
    words: list[str] = []
    JobEvents(JobStore(connect(relay.url))).listen(lambda job_id, word: words.append(word))
    assert wait_until(lambda: words == [""])
    return words


def test_a_subscription_that_fell_silent_is_made_anew(heard: list[str], relay: Relay, redis_url: str) -> None:
    """Only a question that is not answered tells, no end of the connection. All are asked for then."""
    relay.silence()
    assert wait_until(lambda: heard == ["", ""])
    connect(redis_url).publish(keys.job(JOB), "running")
    assert wait_until(lambda: heard[-1] == "running")


def test_a_quiet_subscription_is_kept(heard: list[str], relay: Relay, redis_url: str) -> None:
    """Nothing happens for a while, and Redis answers."""
    assert not wait_until(lambda: len(heard) > 1, 2)
    connect(redis_url).publish(keys.job(JOB), "running")
    assert wait_until(lambda: heard == ["", "running"])
    assert relay.opened == 1
