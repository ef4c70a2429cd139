"""One node of a Redis Cluster holds all slots: it refuses a script that touches an undeclared key (J7)."""

from collections.abc import Iterator

import pytest
from redis import Redis

from provider.jobs.model.status import Status
from tests.support.jobs import Platform, running_platform
from tests.support.processes import free_ports, wait_until
from tests.support.redis_server import RedisServer, running_redis
from tests.support.timetravel import pass_time


@pytest.fixture(scope="module")
def node() -> Iterator[RedisServer]:
    port, bus = map(str, free_ports(2))
    with running_redis("--cluster-enabled", "yes", "--port", port, "--cluster-port", bus) as server:
        with Redis.from_url(server.url) as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            assert wait_until(lambda: b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO"))
        yield server


@pytest.fixture
def platform(node: RedisServer) -> Iterator[Platform]:
    with running_platform(node.url, retention_seconds=5.0) as parts:
        yield parts
        parts.store.client.flushall()


def test_every_script_of_both_policies_declares_its_keys(platform: Platform) -> None:
    """Claim, lease, progress, checkpoint, output, settlement."""
    for name in ("after", "before"):
        assert platform.finish(platform.buy(name, {"do": "progress"})).status is Status.SUCCEEDED


def test_retries_refusals_and_withdrawals_declare_their_keys(platform: Platform) -> None:
    """The ways that lead back."""
    from tests.support.jobs import service

    platform.registry.add(service("shaky", max_retries=2))
    waiting = platform.buy("shaky", {"do": "transient"})
    platform.runner.run_next("shaky")
    platform.lanes.ready(platform.job(waiting))
    unpaid = platform.buy("before")
    platform.store.begin_settlement(unpaid, "me", give_up_seconds=9)
    assert platform.store.withdraw_settlement(unpaid.id, "me", look_seconds=1)


def test_a_cancel_declares_its_keys(platform: Platform) -> None:
    """Of what waits, and of what runs."""
    service, waits, runs = platform.registry.get("after"), platform.buy(), platform.buy()
    assert platform.canceller.cancel(waits.id).status is Status.CANCELLED
    platform.lanes.lease(service, runs.id, "worker", lease_seconds=30)
    assert platform.canceller.cancel(runs.id).cancel
    assert platform.lanes.look(runs.id, "worker") is True


def test_the_sweep_declares_its_keys(platform: Platform) -> None:
    """Down to deleting a job and its claim."""
    job = platform.finish(platform.buy())
    platform.clock.latest_ledger += 1000
    pass_time(platform.store.client, 400)
    assert platform.sweep.run().actions == {"forget": 1}
    assert platform.store.client.keys(f"*{job.id.split('.')[1]}*") == []
