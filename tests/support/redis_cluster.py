"""A Redis Cluster of three nodes for tests, from the same binary, on loopback ports."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redis import Redis
from redis.crc import key_slot

from tests.support.processes import free_ports, wait_until
from tests.support.redis_server import RedisServer

SLOTS = 16384
NODE_TIMEOUT_MS = 2000
"""A node that is silent for so long is given up by the others."""


@dataclass
class RedisCluster:
    """Three primaries without replicas: each holds a third of the slots."""

    nodes: list[RedisServer]
    ports: list[int]

    @property
    def url(self) -> str:
        """The address as a deployment writes it."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def node_of(self, key: str) -> RedisServer:
        """Give the node that holds a key."""
        return self.nodes[key_slot(key.encode()) * len(self.nodes) // SLOTS]

    def is_whole(self) -> bool:
        """Tell whether every node sees all slots served."""
        return all(self._sees_all(number) for number in range(len(self.nodes)))

    def _sees_all(self, number: int) -> bool:
        with self._ask(number) as client:
            told = str(client.execute_command("CLUSTER", "INFO"))
        nodes = f"cluster_known_nodes:{len(self.nodes)}"
        wanted = ("cluster_state:ok", f"cluster_slots_assigned:{SLOTS}", nodes)
        return all(f"{line}\r" in told for line in wanted)

    def _ask(self, number: int) -> "Redis":
        return Redis.from_url(self.nodes[number].url, decode_responses=True)


@contextlib.contextmanager
def running_cluster(count: int = 3) -> Iterator[RedisCluster]:
    """Run a cluster that serves all slots; its nodes may be killed and started again."""
    ports, buses = free_ports(count), free_ports(count)
    with (
        tempfile.TemporaryDirectory(prefix="cluster-", dir="/tmp") as home,
        contextlib.ExitStack() as running,
    ):
        nodes = []
        for number, (port, bus) in enumerate(zip(ports, buses, strict=True)):
            (place := Path(home) / str(number)).mkdir()
            node = RedisServer(place, *_options(port, bus))
            node.start()
            running.callback(node.kill)
            nodes.append(node)
        cluster = RedisCluster(nodes, ports)
        _join(cluster, buses)
        assert wait_until(cluster.is_whole, 30), "the nodes did not find each other"
        yield cluster


def _options(port: int, bus: int) -> tuple[str, ...]:
    cluster = (
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        str(bus),
        "--cluster-require-full-coverage",
        "no",
    )
    place = ("--port", str(port), "--bind", "127.0.0.1")
    return (*place, *cluster, "--cluster-node-timeout", str(NODE_TIMEOUT_MS))


def _join(cluster: RedisCluster, buses: list[int]) -> None:
    """Share the slots out, and make the nodes known to the first."""
    count = len(cluster.nodes)
    bounds = [-(-SLOTS * number // count) for number in range(count + 1)]
    for number, node in enumerate(cluster.nodes):
        with Redis.from_url(node.url) as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", bounds[number], bounds[number + 1] - 1)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
    with Redis.from_url(cluster.nodes[0].url) as client:
        for port, bus in list(zip(cluster.ports, buses, strict=True))[1:]:
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
