"""Redis at maxmemory refuses new work and still closes what is open (C6)."""

from collections.abc import Iterator
from typing import Any

import pytest

from provider.errors import StoreUnavailable
from provider.jobs.model.job import Lease
from provider.jobs.model.status import Status
from tests.support.jobs import Platform, running_platform
from tests.support.redis_server import RedisServer


@pytest.fixture
def platform(own_redis: RedisServer) -> Iterator[Platform]:
    """Give a platform whose Redis the test may fill."""
    with running_platform(own_redis.url) as parts:
        yield parts


@pytest.fixture
def fill(platform: Platform) -> Iterator[None]:
    """Take the memory away, and give it back for the teardown."""
    yield
    platform.store.client.config_set("maxmemory", 0)


def full(platform: Platform) -> None:
    platform.store.client.config_set("maxmemory", 1)


@pytest.mark.usefixtures("fill")
def test_a_full_store_takes_no_new_claim_and_leaves_nothing_of_it(platform: Platform) -> None:
    """`#!lua`: refused whole, before its first write; nobody is asked to verify."""
    before = platform.store.client.dbsize()
    full(platform)
    with pytest.raises(StoreUnavailable):
        platform.buy()
    assert platform.facilitator.asked == []
    assert platform.store.client.dbsize() == before


@pytest.mark.usefixtures("fill")
@pytest.mark.parametrize(("last", "left"), [("reserve", []), ("claim", ["claim"])])
def test_each_script_of_a_claim_is_refused_whole(platform: Platform, last: str, left: list[str]) -> None:
    """Memory may run out between any two of them; the same call heals it when there is room again."""
    platform.store._announce("after")
    platform.store.scripts.after = lambda name: full(platform) if name == last else None
    payment = platform.payment()
    with pytest.raises(StoreUnavailable):
        platform.buy(payment=payment)
    stored: Any = platform.store.client.keys("provider:*")
    assert [kind for kind in ("claim", "job", "lane") if any(kind in key for key in stored)] == left
    platform.store.client.config_set("maxmemory", 0)
    platform.store.scripts.after = lambda name: None
    assert platform.buy(payment=payment).status is Status.QUEUED


@pytest.mark.usefixtures("fill")
def test_money_state_is_closed_in_a_full_store(platform: Platform) -> None:
    """`allow-oom`: an upfront job is settled, run and finished although nothing new fits."""
    job = platform.buy("before")
    full(platform)
    platform.settler.settle(job.id)
    assert platform.job(job).status is Status.QUEUED
    lease = platform.lanes.lease(platform.registry.get("before"), job.id, "w1", lease_seconds=30)
    assert isinstance(lease, Lease)
    assert platform.lanes.renew(job.id, "w1", lease_seconds=30, progress={"done": 1})
    assert platform.outcomes.output(platform.job(job), '{"big":"enough"}', {})
    assert platform.job(job).status is Status.SUCCEEDED


@pytest.mark.usefixtures("fill")
def test_a_withheld_output_is_charged_in_a_full_store(platform: Platform) -> None:
    """On-success: the work is done, its payment goes on."""
    job = platform.buy()
    platform.runner.run_next("after")
    full(platform)
    platform.settler.settle(job.id)
    assert platform.job(job).status is Status.SUCCEEDED


@pytest.mark.usefixtures("fill")
def test_a_withheld_output_is_charged_in_a_full_store_that_fsyncs_each_second(platform: Platform) -> None:
    """C7: what confirms the write must not be refused either, or the payment expires with the work done."""
    platform.store.client.config_set("appendfsync", "everysec")
    job = platform.buy()
    platform.runner.run_next("after")
    full(platform)
    platform.settler.settle(job.id)
    assert platform.job(job).status is Status.SUCCEEDED


@pytest.mark.usefixtures("fill")
def test_the_sweep_works_in_a_full_store(platform: Platform) -> None:
    """It is what makes room again."""
    platform.buy()
    full(platform)
    assert platform.sweep.run().woken == 1
