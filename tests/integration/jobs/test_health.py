"""`provider doctor` on real servers that are set up wrongly, one way each (C4, C7)."""

from collections.abc import Iterator

import pytest
from redis import Redis

from provider.doctor.finding import Finding, Level
from provider.doctor.redis import check_redis, refuse_eviction, refuse_unsafe_redis
from provider.errors import ConfigurationError, StoreUnavailable
from provider.jobs.store import keys
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from tests.support.processes import free_ports, wait_until
from tests.support.redis_cluster import running_cluster
from tests.support.redis_server import RedisServer, running_redis


def found(url: str) -> dict[str, Finding]:
    return {finding.check.removeprefix("redis "): finding for finding in check_redis(connect(url))}


def with_flags(*flags: str) -> dict[str, Finding]:
    with running_redis(*flags) as server:
        return found(server.url)


def test_a_durable_redis_has_no_faults(redis_url: str) -> None:
    """The settings of config/redis.conf."""
    assert {finding.level for finding in found(redis_url).values()} == {Level.OK}


@pytest.mark.parametrize(
    ("flags", "check", "told"),
    [
        (("--maxmemory-policy", "allkeys-lru"), "eviction", "noeviction"),
        (("--maxmemory-policy", "volatile-ttl"), "eviction", "noeviction"),
        (("--appendonly", "no"), "append-only file", "appendonly yes"),
        (("--appendonly", "no"), "fsync", "appendonly yes"),
        (("--appendfsync", "no"), "fsync", "appendfsync always"),
    ],
)
def test_each_wrong_setting_fails_its_check_and_says_what_to_do(
    flags: tuple[str, ...], check: str, told: str
) -> None:
    """A failing line is an instruction."""
    finding = with_flags(*flags)[check]
    assert finding.level is Level.FAIL
    assert told in finding.advice


@pytest.mark.parametrize("blocked", [False, True])
def test_everysec_is_fine_where_waitaof_confirms(blocked: bool) -> None:
    """C7; managed offers block CONFIG, and WAITAOF tells all the same."""
    flags = ("--rename-command", "CONFIG", "") if blocked else ()
    finding = with_flags("--appendfsync", "everysec", *flags)["fsync"]
    assert (finding.level, "WAITAOF" in finding.seen) == (Level.OK, True)


@pytest.mark.parametrize(
    ("version", "levels"),
    [
        ("6.2.14", {"version": Level.FAIL, "fsync": Level.FAIL}),
        ("7.0.15", {"version": Level.OK, "fsync": Level.FAIL}),
        ("7.2.4", {"version": Level.OK, "fsync": Level.OK}),
    ],
)
def test_what_an_older_redis_lacks(
    version: str, levels: dict[str, Level], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scripts need 7.0, WAITAOF came with 7.2; only the version is made up here."""
    tell = Redis.info
    monkeypatch.setattr(Redis, "info", lambda client: {**tell(client), "redis_version": version})  # type: ignore[dict-item]
    seen = with_flags("--appendfsync", "everysec")
    assert {check: seen[check].level for check in levels} == levels


def test_a_file_that_cannot_be_written_fails(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis goes on answering reads then; only its answer is made up here."""
    tell = Redis.info
    monkeypatch.setattr(Redis, "info", lambda client: {**tell(client), "aof_last_write_status": "err"})  # type: ignore[dict-item]
    finding = found(redis_url)["append-only file"]
    assert (finding.level, "make room" in finding.advice) == (Level.FAIL, True)


def test_a_redis_that_does_not_answer_is_one_failure() -> None:
    """There is nothing else to tell about it."""
    [finding] = found("unix:///tmp/no-such.sock").values()
    assert (finding.level, "REDIS_URL" in finding.advice) == (Level.FAIL, True)


@pytest.fixture
def replicated() -> Iterator[tuple[str, str]]:
    """Run a primary and its replica; gives both URLs."""
    with running_redis("--repl-diskless-sync-delay", "0") as primary, running_redis() as replica:
        with Redis.from_url(primary.url) as one, Redis.from_url(replica.url) as two:
            one.config_set("port", 0)
            port = _listen(one)
            two.replicaof("127.0.0.1", port)  # type: ignore[arg-type]
            assert wait_until(lambda: one.info("replication")["connected_slaves"] == 1)  # type: ignore[index]
        yield primary.url, replica.url


def _listen(client: "Redis") -> int:
    [port] = free_ports(1)
    client.config_set("port", port)
    return port


def test_a_primary_with_replicas_is_told_about_failovers(replicated: tuple[str, str]) -> None:
    """Advice, not a failure: what is lost is lost by the failover."""
    primary, replica = replicated
    advice = found(primary)["replication"]
    assert (advice.level, "min-replicas-to-write 1" in advice.advice) == (Level.ADVICE, True)
    with Redis.from_url(primary) as client:
        client.config_set("min-replicas-to-write", 1)
    assert found(primary)["replication"].level is Level.OK
    assert found(replica)["replication"].level is Level.FAIL


def test_a_process_refuses_an_evicting_redis_by_name() -> None:
    """C4: the error names the policy and what to set."""
    told = pytest.raises(ConfigurationError, match=r"allkeys-lfu; set `maxmemory-policy noeviction`")
    with running_redis("--maxmemory-policy", "allkeys-lfu") as server, told:
        refuse_unsafe_redis(connect(server.url))


def test_a_process_refuses_an_old_redis(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """C4: 7 or newer."""
    tell = Redis.info
    monkeypatch.setattr(Redis, "info", lambda client: {**tell(client), "redis_version": "6.2.14"})  # type: ignore[dict-item]
    with pytest.raises(ConfigurationError, match="upgrade Redis to 7"):
        refuse_unsafe_redis(connect(redis_url))


def test_a_redis_that_is_away_refuses_nobody(redis_url: str) -> None:
    """C5: the process starts, and waits for it."""
    refuse_unsafe_redis(connect("unix:///tmp/no-such.sock"))
    refuse_unsafe_redis(connect(redis_url))


def evicting(server: RedisServer) -> None:
    """Start it again as a cache is run, on the same data."""
    server.kill()
    server.options = ("--maxmemory-policy", "volatile-lru")
    server.start()


def test_a_redis_that_comes_back_evicting_is_as_good_as_away(own_redis: RedisServer) -> None:
    """C4: nothing is read or written there until its policy is mended; then nobody has to be restarted."""
    store = JobStore(connect(own_redis.url, guard=refuse_eviction))
    store.ping()
    evicting(own_redis)
    with pytest.raises(StoreUnavailable):
        store.service_names()
    with pytest.raises(StoreUnavailable):
        store.get(f"after.{0:032x}")
    with Redis.from_url(own_redis.url) as operator:
        operator.config_set("maxmemory-policy", "noeviction")
    assert store.service_names() == []


def test_a_redis_that_tells_nothing_about_itself_is_used(own_redis: RedisServer) -> None:
    """Managed offers forbid INFO; the doctor says so."""
    with Redis.from_url(own_redis.url) as operator:
        operator.acl_setuser("tenant", enabled=True, passwords=["+pw"], keys=["*"], categories=["+@all"])
        operator.execute_command("ACL", "SETUSER", "tenant", "-info")
    client = connect(own_redis.url, guard=refuse_eviction, username="tenant", password="pw")
    JobStore(client).ping()


def test_each_node_of_a_cluster_is_looked_at() -> None:
    """J7: one that evicts takes its own lanes along, no others."""
    with running_cluster() as cluster:
        store = JobStore(connect(cluster.url, guard=refuse_eviction))
        bad, good = (cluster.node_of(keys.due(name)) for name in ("after", "before"))
        assert bad is not good
        with Redis.from_url(bad.url) as operator:
            operator.config_set("maxmemory-policy", "allkeys-random")
        with pytest.raises(StoreUnavailable):
            store.due("after", 1, limit=1)
        assert store.due("before", 1, limit=1) == []
