"""No money moves before the record of it is on disk (C7)."""

from collections.abc import Iterator
from typing import Any

import pytest

from provider.errors import NotDurable
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store.client import connect
from provider.jobs.store.durability import Durability
from tests.support.jobs import Platform, running_platform
from tests.support.redis_server import RedisServer


@pytest.fixture
def platform(own_redis: RedisServer) -> Iterator[Platform]:
    """Give a platform whose Redis the test may set up."""
    with running_platform(own_redis.url) as parts:
        yield parts


def settle_with(platform: Platform, **config: str) -> Job:
    """Settle an upfront job on a Redis with this configuration."""
    for name, value in config.items():
        platform.store.client.config_set(name, value)
    job = platform.buy("before")
    platform.settler.settle(job.id)
    return platform.job(job)


def commands(platform: Platform, name: str) -> int:
    stats: dict[str, Any] = platform.store.client.info("commandstats")  # type: ignore[assignment]
    return int(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"])


def test_fsync_always_needs_no_fence(platform: Platform) -> None:
    """A reply already means that it is on disk."""
    assert settle_with(platform).status is Status.QUEUED
    assert commands(platform, "waitaof") == 0


def test_everysec_is_confirmed_by_waitaof(platform: Platform) -> None:
    """C7: the settlement goes ahead once the write is on disk."""
    assert settle_with(platform, appendfsync="everysec").status is Status.QUEUED
    assert commands(platform, "waitaof") >= 1


def test_a_disk_slower_than_a_redis_command_may_be_is_waited_for(own_redis: RedisServer) -> None:
    """C7: `everysec` takes a second; the connection's own time-out must not cut the wait off."""
    client = connect(own_redis.url, timeout_seconds=0.5)
    client.config_set("appendfsync", "everysec")
    for _ in range(2):
        Durability(client, timeout_ms=4000).confirm("x")
    client.config_set("appendfsync", "no")
    with pytest.raises(NotDurable):
        Durability(client, timeout_ms=700).confirm("x")


@pytest.mark.parametrize("config", [{"appendonly": "no"}, {"appendfsync": "no"}])
def test_without_confirmation_no_call_is_made(platform: Platform, config: dict[str, str]) -> None:
    """C7: and the right to settle goes back, since nothing was sent."""
    platform.settler = _settler(platform, timeout_ms=50)
    job = settle_with(platform, **config)
    assert (job.status, job.is_settling) == (Status.PENDING, False)
    assert platform.facilitator.calls("/settle") == 0


def _settler(platform: Platform, *, timeout_ms: int) -> Any:
    from provider.jobs.settle.settler import Settler

    durability = Durability(platform.store.client, timeout_ms=timeout_ms)
    return Settler(platform.store, platform.client, durability, platform.wakeups, platform.settings)


def test_a_managed_redis_that_hides_its_configuration_is_asked_by_fence(platform: Platform) -> None:
    """Managed offers block CONFIG: WAITAOF tells."""
    client = platform.store.client
    client.execute_command("ACL", "SETUSER", "tenant", "on", ">pw", "~*", "&*", "+@all", "-config")
    tenant = connect(platform.redis_url, username="tenant", password="pw")
    Durability(tenant, timeout_ms=3000).confirm("before")
    assert commands(platform, "waitaof") >= 1


def test_a_redis_without_waitaof_says_what_to_do(platform: Platform) -> None:
    """Redis 7.0 with everysec cannot confirm anything."""
    client = platform.store.client
    client.config_set("appendfsync", "everysec")
    client.execute_command("ACL", "SETUSER", "old", "on", ">pw", "~*", "&*", "+@all", "-waitaof")
    with pytest.raises(NotDurable, match="appendfsync always"):
        Durability(connect(platform.redis_url, username="old", password="pw"), timeout_ms=50).confirm("x")
