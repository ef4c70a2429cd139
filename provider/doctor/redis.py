"""Is this Redis fit to hold claims? Asked by `provider doctor`, and by each process at its start (C4)."""

from collections.abc import Mapping
from typing import Any

import structlog
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError

from provider.doctor.finding import Finding, Level, advise, fail, ok
from provider.errors import ConfigurationError

log = structlog.get_logger()

REDIS_NOT_CHECKED = "redis_not_checked"
REDIS_EVICTS = "redis_refused_for_eviction"
SAFE_POLICY = "noeviction"
OLDEST_REDIS = (7, 0)
WAITAOF_SINCE = (7, 2)


def check_redis(client: "Redis") -> list[Finding]:
    """Check the Redis, or each primary of a cluster: version, eviction, durability, replication (C4, C7)."""
    try:
        return [finding for name, server in _servers(client) for finding in _check_server(name, server)]
    except RedisError as error:
        todo = "start it, or mend REDIS_URL: host, port, password, TLS, the right to run INFO"
        return [fail("redis", f"no answer: {type(error).__name__}: {error}", todo)]


def refuse_unsafe_redis(client: "Redis") -> None:
    """Let no process start on a Redis that may evict claims, or that is too old (C4).

    One that does not answer is no reason: the process waits for it (C5). Raises ConfigurationError.
    """
    try:
        found = [(name, server.info()) for name, server in _servers(client)]
    except RedisError as error:
        log.warning(REDIS_NOT_CHECKED, error=type(error).__name__)
        return
    findings = [check(name, info) for name, info in found for check in (_version, _eviction)]
    problems = [f"{one.check}: {one.seen}; {one.advice}" for one in findings if one.level is Level.FAIL]
    if problems:
        raise ConfigurationError(problems)


def refuse_eviction(connection: Any) -> None:
    """Refuse a connection to a Redis that may evict claims: it counts as away until that is mended (C4).

    The check at the start sees neither one that was away then nor one that comes back with other settings.
    Raises the ConnectionError of redis-py.
    """
    connection.send_command("INFO", "memory")
    try:
        info = str(connection.read_response())
    except ResponseError:  # INFO is forbidden; `provider doctor` reports it.
        return
    policy = info.partition("maxmemory_policy:")[2].split("\r")[0]
    if policy and policy != SAFE_POLICY:
        log.error(REDIS_EVICTS, policy=policy)
        raise RedisConnectionError(f"maxmemory-policy {policy}")


def _servers(client: Any) -> list[tuple[str, "Redis"]]:
    """Name the one server, or the primaries of a cluster."""
    if isinstance(client, Redis):
        return [("redis", client)]
    nodes = client.get_primaries()
    return [(f"redis {node.host}:{node.port}", client.get_redis_connection(node)) for node in nodes]


def _check_server(name: str, server: "Redis") -> list[Finding]:
    info: Mapping[str, Any] = server.info()
    config = _configuration(server)
    return [
        ok(name, "answers"),
        _version(name, info),
        _eviction(name, info),
        _file(name, info),
        _fsync(name, info, config),
        _replication(name, info, config),
    ]


def _configuration(client: "Redis") -> Mapping[str, str] | None:
    """Read the settings that INFO does not show; None where CONFIG is blocked, as in managed offers."""
    try:
        found = client.config_get("append*", "min-replicas-to-write")
    except ResponseError:
        return None
    return {str(name): str(value) for name, value in found.items()}


def _numbers(info: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(part) for part in str(info["redis_version"]).split(".")[:2])


def _version(name: str, info: Mapping[str, Any]) -> Finding:
    seen = f"version {info['redis_version']}"
    if _numbers(info) >= OLDEST_REDIS:
        return ok(f"{name} version", seen)
    return fail(f"{name} version", seen, "upgrade Redis to 7 or newer")


def _eviction(name: str, info: Mapping[str, Any]) -> Finding:
    """Each key stands for money; even `volatile-*` would drop payment identifiers early."""
    policy = str(info.get("maxmemory_policy", "unknown"))
    if policy == SAFE_POLICY:
        return ok(f"{name} eviction", policy)
    todo = "set `maxmemory-policy noeviction`, since an evicted claim is a payment that can be used twice"
    return fail(f"{name} eviction", f"maxmemory-policy {policy}", todo)


def _file(name: str, info: Mapping[str, Any]) -> Finding:
    name = f"{name} append-only file"
    if not int(info.get("aof_enabled", 0)):
        return fail(name, "off", "set `appendonly yes` (config/redis.conf): it is the record of claims")
    if info.get("aof_last_write_status", "ok") != "ok":
        return fail(name, "the last write failed", "make room on its disk, and read Redis' log")
    return ok(name, "on")


def _fsync(name: str, info: Mapping[str, Any], config: Mapping[str, str] | None) -> Finding:
    """Settlements wait for the disk: by the policy itself, or by WAITAOF (C7)."""
    name = f"{name} fsync"
    policy = "unknown, CONFIG is blocked" if config is None else str(config.get("appendfsync"))
    if not int(info.get("aof_enabled", 0)):
        return fail(name, "there is no append-only file; no settlement can be confirmed", FSYNC)
    if policy == "always":
        return ok(name, policy)
    if policy != "no" and _numbers(info) >= WAITAOF_SINCE:
        return ok(name, f"{policy}; WAITAOF confirms each settlement")
    return fail(name, f"appendfsync {policy}; no settlement can be confirmed", FSYNC)


FSYNC = "set `appendonly yes` and `appendfsync always`, or run Redis 7.2 or newer with `everysec`"


def _replication(name: str, info: Mapping[str, Any], config: Mapping[str, str] | None) -> Finding:
    name, replicas = f"{name} replication", int(info.get("connected_slaves", 0))
    if info.get("role") != "master":
        return fail(name, "this is a replica", "point REDIS_URL to the primary: a replica takes no writes")
    if not replicas:
        return ok(name, "primary, no replicas")
    wanted = "unknown, CONFIG is blocked" if config is None else config.get("min-replicas-to-write", "0")
    seen = f"primary of {replicas}, min-replicas-to-write {wanted}"
    if wanted.isdigit() and int(wanted):
        return ok(name, seen)
    todo = "set `min-replicas-to-write 1`: replication is asynchronous, and a failover may lose claims"
    return advise(name, seen, todo)
