"""The job store on a real Redis Cluster of three nodes, with lanes on different ones (J7)."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.crc import key_slot

from provider.errors import StoreUnavailable
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.jobs.store.client import connect, node_of
from provider.jobs.store.durability import Durability
from provider.jobs.store.inspect import read_dossier
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.ledger_cache import LedgerCache
from provider.jobs.store.listing import JobIndex
from provider.jobs.store.stats import read_stats, read_stranded
from provider.jobs.store.subscription import JobEvents, Waiter
from provider.services import ChargePolicy
from tests.support.jobs import Platform, running_platform, service
from tests.support.processes import wait_until
from tests.support.racing import race
from tests.support.reconciling import Scene, running_scene
from tests.support.redis_cluster import RedisCluster, running_cluster
from tests.support.timetravel import pass_time
from tests.support.waiting import subscribe

LANES = {"after": ChargePolicy.ON_SUCCESS, "before": ChargePolicy.UPFRONT, "two": ChargePolicy.ON_SUCCESS}
"""Names whose hash tags fall on three different nodes."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with running_cluster() as nodes:
        yield nodes


@pytest.fixture
def platform(cluster: RedisCluster) -> Iterator[Platform]:
    with running_platform(cluster.url, retention_seconds=5.0) as parts:
        parts.registry.add(service("two", timeout_seconds=1, max_retries=1))
        yield parts
        parts.store.client.flushall()


def test_lanes_lie_on_different_nodes(cluster: RedisCluster, platform: Platform) -> None:
    """Otherwise this module would show less than it says."""
    assert len({cluster.node_of(keys.index(name)).url for name in LANES}) == 3
    for name in LANES:
        platform.buy(name)
    assert [len(node_of(platform.store.client, keys.index(name)).keys("*:job:*")) for name in LANES] == [
        1
    ] * 3


@pytest.mark.parametrize("name", LANES)
def test_both_policies_go_the_whole_way(platform: Platform, name: str) -> None:
    """Claim, lease, progress, checkpoint, output, settlement; the same payment again is the same job."""
    payment = platform.payment(name)
    job = platform.buy(name, {"do": "progress"}, payment)
    assert platform.finish(job).status is Status.SUCCEEDED
    assert platform.buy(name, {"do": "progress"}, payment).id == job.id


def test_failures_retries_and_limits(platform: Platform) -> None:
    """The ways that do not lead straight on."""
    waiting = platform.buy("two", {"do": "transient"})
    platform.runner.run_next("two")
    assert platform.lanes.ready(platform.job(waiting))
    assert platform.finish(platform.buy("two", {"do": "loop"})).status is Status.FAILED
    assert platform.finish(waiting).retries == 1


def test_the_sweep_takes_all_nodes_by_their_own_clocks(platform: Platform) -> None:
    """What is due is found, done, and in the end forgotten, claim and all."""
    lost = platform.buy("before")
    platform.settler.settle(lost.id)
    assert platform.lanes.lease(platform.registry.get("before"), lost.id, "dead", lease_seconds=0.001)
    unpaid = platform.buy("two")
    pass_time(platform.store.client, 400)
    assert platform.sweep.run().actions == {"requeue": 1, "expire": 1}
    assert platform.finish(lost).status is Status.SUCCEEDED
    platform.clock.latest_ledger += 1000
    pass_time(platform.store.client, 400)
    assert platform.sweep.run().actions == {"forget": 2}
    assert platform.store.client.keys(f"*{unpaid.id.split('.')[1]}*") == []


@pytest.mark.parametrize("name", LANES)
def test_the_time_is_asked_of_the_node_of_the_service(platform: Platform, name: str) -> None:
    """C6: leases are written by that node's clock, so they are read by it too."""
    nodes = {one: node_of(platform.store.client, keys.index(one)) for one in LANES}
    for node in nodes.values():
        node.config_resetstat()
    platform.store.now_ms(name)
    assert [one for one, node in nodes.items() if "cmdstat_time" in node.info("commandstats")] == [name]


def test_wake_ups_reach_every_lane(platform: Platform) -> None:
    """A sweep looks into lanes on all nodes."""
    jobs = [platform.buy(name) for name in LANES]
    platform.settler.settle(jobs[1].id)
    platform.wakeups.handled.clear()
    assert platform.sweep.run().woken == 3
    assert set(platform.wakeups.handled) == {job.id for job in jobs}


def test_counts_come_from_all_nodes(platform: Platform) -> None:
    """Metrics and descriptors read several lanes at once."""
    for name in LANES:
        platform.buy(name)
    stats = read_stats(platform.store, platform.registry)
    assert [stats[name].depth for name in LANES] == [1, 1, 1]


def test_operators_see_and_act_on_all_nodes(platform: Platform) -> None:
    """A page merges services of several nodes; so do counts of what nobody offers."""
    jobs = [platform.buy(name) for name in LANES]
    page = JobIndex(platform.store).page(list(LANES), list(Status), limit=2)
    rest = JobIndex(platform.store).page(list(LANES), list(Status), limit=2, after=page.after or "")
    assert {job.id for job in [*page.jobs, *rest.jobs]} == {job.id for job in jobs}
    assert read_dossier(platform.store, jobs[2].id).position == 1
    assert set(read_stranded(platform.store, {"two"})) == {"after", "before"}
    assert platform.canceller.cancel_all("two", [Status.QUEUED]) == {"cancelled": 1}


def test_the_ledger_clock_and_the_place_in_a_lane(platform: Platform) -> None:
    """Keys without a service lie where they lie."""
    LedgerCache(platform.store).set("x", 5)
    assert LedgerCache(platform.store).get() == "x"
    second = [platform.buy("two") for _ in range(2)][1]
    place = platform.lanes.place(second, platform.registry.get("two"))
    assert place is not None
    assert place.position == 2


def test_a_change_wakes_who_waits_at_another_node(platform: Platform) -> None:
    """Messages are passed on between nodes."""
    job = platform.buy("two")
    events = JobEvents(platform.store)
    subscribe(events, platform.store)
    with events.waking(Waiter(job.id)) as waiter:
        platform.runner.run_next("two")
        assert waiter.wait(10)


def test_durability_is_asked_of_the_node_that_holds_the_claim(platform: Platform) -> None:
    """C7: another node's answer would say nothing; nodes may be set up differently."""
    node_of(platform.store.client, keys.fence("two")).config_set("appendfsync", "everysec")
    fresh = Durability(platform.store.client, timeout_ms=4000)
    for name in LANES:
        fresh.confirm(name)
    told = [node_of(platform.store.client, keys.fence(name)).get(keys.fence(name)) for name in LANES]
    node_of(platform.store.client, keys.fence("two")).config_set("appendfsync", "always")
    assert told == [None, None, "1"]


@pytest.fixture
def scene(cluster: RedisCluster, tmp_path: Path) -> Iterator[Scene]:
    with running_scene(cluster.url, tmp_path) as scene:
        yield scene
        scene.redis.flushall()


def test_the_reconciler_reads_and_decides_on_all_nodes(scene: Scene) -> None:
    """§10: paid and unpaid, several services in one run; then it confirms what was settled."""
    claims = [scene.claim(charge, service=name) for name, charge in LANES.items()]
    for claim in claims[:2]:
        scene.land(claim.payment)
    scene.expire()
    assert scene.reconcile().counts == {"paid": 2, "unpaid": 1}
    ended = [scene.job(claim).status for claim in claims]
    assert ended == [Status.SUCCEEDED, Status.QUEUED, Status.FAILED]
    for claim in claims:
        scene.redis.hset(keys.job(claim.id), "expires_at_ms", scene.store.now_ms(claim.job.service))
    assert scene.reconcile().confirmed == 3


# Nodes that go


def test_a_node_that_dies_takes_its_own_lanes_along_and_brings_them_back(
    cluster: RedisCluster, platform: Platform
) -> None:
    """C5: quickly unavailable, decided is nothing, and the same client finds the node again."""
    job, other = platform.buy("two"), platform.buy("after")
    node = cluster.node_of(keys.index("two"))
    node.kill()
    began = time.monotonic()
    with pytest.raises(StoreUnavailable):
        platform.store.get(job.id)
    with pytest.raises(StoreUnavailable):
        platform.runner.run_next("two")
    assert time.monotonic() - began < 2
    assert platform.job(other) == other
    node.start()
    assert wait_until(cluster.is_whole, 20)
    assert wait_until(lambda: _finished(platform, job.id), 10)


def test_a_node_that_is_frozen_is_waited_for_once(cluster: RedisCluster, platform: Platform) -> None:
    """C5: redis-py would try again after each time-out, and each command of a pipeline by itself."""
    job, two = platform.buy("two"), platform.registry.get("two")
    process = cluster.node_of(keys.index("two")).process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        for ask in (lambda: platform.store.get(job.id), lambda: platform.lanes.place(job, two)):
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                ask()
            assert time.monotonic() - began < 2
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert wait_until(lambda: cluster.is_whole() and _finished(platform, job.id), 20)


def _finished(platform: Platform, job_id: str) -> bool:
    try:
        return platform.finish(platform.store.get(job_id)).status is Status.SUCCEEDED
    except StoreUnavailable:
        return False


def test_a_slot_that_nobody_serves_is_unavailable_as_well(cluster: RedisCluster, platform: Platform) -> None:
    """redis-py tells it by an error outside its own tree."""
    job, slot = platform.buy("two"), key_slot(b"two")
    platform.runner.run_next("two")
    for node in cluster.nodes:
        with Redis.from_url(node.url) as client:
            client.execute_command("CLUSTER", "DELSLOTS", slot)
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            platform.store.get(job.id)
    with Redis.from_url(cluster.node_of(keys.index("two")).url) as client:
        client.execute_command("CLUSTER", "ADDSLOTS", slot)
    assert wait_until(lambda: _finished(platform, job.id), 10)
    assert wait_until(cluster.is_whole, 20), "the others did not hear who serves the slot"


def test_a_process_may_start_while_the_cluster_is_away() -> None:
    """C5: the client connects when it is first used, and says the same as with one Redis."""
    store = JobStore(connect("redis+cluster://127.0.0.1:9,127.0.0.1:10", timeout_seconds=0.2))
    for ask in (store.ping, store.now_ms, store.service_names, lambda: store.due("x", 0, limit=1)):
        with pytest.raises(StoreUnavailable):
            ask()


def test_any_node_of_the_list_is_enough(cluster: RedisCluster) -> None:
    """The first one may be the one that is away."""
    url = f"redis+cluster://127.0.0.1:9,127.0.0.1:{cluster.ports[2]}"
    JobStore(connect(url)).ping()


def test_each_node_has_a_pool_that_has_an_end(cluster: RedisCluster) -> None:
    """As a single Redis has."""
    client = connect(cluster.url, most_connections=3, client_name="few")
    client.ping()
    assert all(answer is True for answer in race(24, lambda number: client.set(f"few:{number}", "x")))
    for node in cluster.nodes:
        with Redis.from_url(node.url, decode_responses=True) as direct:
            others: Any = direct.client_list()
            assert sum(one["name"] == "few" for one in others) <= 3
