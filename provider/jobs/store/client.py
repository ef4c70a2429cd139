"""The client of the job store: one Redis, or a Redis Cluster (J7, C5).

Nobody else chooses a client. What differs in a cluster is told here: it is connected to when it is first
used, so that a process may start while it is away, and `node_of` gives the node that holds a key.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, cast
from urllib.parse import urlsplit

from redis import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.commands.core import Script
from redis.exceptions import (
    ClusterDownError,
    DataError,
    RedisClusterException,
    RedisError,
    ResponseError,
    SlotNotCoveredError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from provider.errors import StoreRefused, StoreUnavailable
from provider.settings import CLUSTER_SCHEME

Client = Redis
"""What `connect` gives: a cluster's client takes the same commands."""
PASSING = re.compile(r"(?:^|caused error: )(BUSY|INPROG|LOADING|MISCONF|NOGOODSLAVE|NOREPLICAS|UNBLOCKED)\b")
"""What a server says while it can do nothing of the kind; for the rest redis-py has classes of their own."""
MOST_TEXT = 300
REDIS_ERRORS = (RedisError, RedisClusterException)
"""All that the client raises: redis-py's cluster errors are a family of their own."""


def connect(
    url: str,
    *,
    timeout_seconds: float = 1.5,
    most_connections: int = 50,
    guard: Callable[[Any], None] | None = None,
    **options: Any,
) -> "Redis":
    """Make the store's client. One reconnect after a lost connection, none after a time-out (C5).

    A thread that finds all connections in use waits for one as long as for an answer. `guard` looks at each
    new connection, and raises a RedisError when it is not to be used.
    """
    timeouts = {"socket_timeout": timeout_seconds, "socket_connect_timeout": timeout_seconds}
    pool = {"max_connections": most_connections, "timeout": timeout_seconds}
    options = {"decode_responses": True, **timeouts, **pool, **options}
    if CLUSTER_SCHEME in url:
        options["connection_pool_class"] = BlockingConnectionPool
        return cast("Redis", Cluster(url, {"redis_connect_func": guard, **options}))
    if guard is not None:
        options["redis_connect_func"] = lambda connection: (connection.on_connect(), guard(connection))
    retry = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
    return Redis.from_pool(BlockingConnectionPool.from_url(url, retry=retry, **options))


@contextmanager
def reaching_redis() -> Iterator[None]:
    """Turn every Redis error into StoreUnavailable, or StoreRefused where another try changes nothing."""
    try:
        yield
    except REDIS_ERRORS as error:
        if is_refusal(error):
            raise StoreRefused(f"Redis refuses it: {str(error)[-MOST_TEXT:]}") from error
        raise StoreUnavailable from error


def is_refusal(error: Exception) -> bool:
    """Return whether Redis refused a command for what it is, and not for the state that the server is in."""
    if isinstance(error, DataError):
        return True
    return type(error) is ResponseError and not PASSING.search(str(error))


def node_of(client: "Redis", key: str) -> "Redis":
    """Give a client of the node that holds a key: for its clock, its settings, and pipelines in one slot.

    Such a client follows no redirections. A slot that has moved is found again by the next command that
    goes through the cluster's own client.
    """
    return client.node_of(key) if isinstance(client, Cluster) else client


def cluster_nodes(url: str) -> list[str]:
    """List a cluster's nodes as plain Redis URLs, from `redis+cluster://user:password@a:1,b:2?option=…`."""
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    scheme = parts.scheme.removesuffix("+cluster")
    return [parts._replace(scheme=scheme, netloc=f"{user}{at}{host}").geturl() for host in hosts.split(",")]


class Cluster:
    """A Redis Cluster that is connected to when it is first used."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self._url = url
        self._options = options

    @cached_property
    def _client(self) -> "RedisCluster":
        first, *others = cluster_nodes(self._url)
        nodes = [ClusterNode(p.hostname, p.port or 6379) for p in map(urlsplit, others)]  # type: ignore[no-untyped-call]
        retry = Retry(NoBackoff(), 1)
        with reaching_cluster():
            return _Cluster(url=first, startup_nodes=nodes, retry=retry, **self._options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def node_of(self, key: str) -> "Redis":
        """Give a client of the node that holds a key."""
        with reaching_cluster():
            node = self._client.get_node_from_key(key)  # type: ignore[no-untyped-call]
            return self._client.get_redis_connection(node)

    def register_script(self, text: str) -> Script:
        """Make a script without asking the cluster."""
        return Script(self, text)  # type: ignore[arg-type]

    def get_encoder(self) -> Any:
        """Encode as every connection does; asked for by Script."""
        return Redis().get_encoder()


@contextmanager
def reaching_cluster() -> Iterator[None]:
    """Raise the error of an unreachable server for an unreachable cluster."""
    try:
        yield
    except RedisClusterException as error:
        raise RedisConnectionError(str(error)) from error


class _Cluster(RedisCluster):
    """Tries nothing again after a time-out: a caller has waited long enough by then (C5).

    It wants all slots covered whenever it reads the topology. Otherwise redis-py would forget a slot that
    nobody served for a moment, and never look for it again.
    """

    ERRORS_ALLOW_RETRY = (RedisConnectionError, ClusterDownError, SlotNotCoveredError)  # type: ignore[assignment]
