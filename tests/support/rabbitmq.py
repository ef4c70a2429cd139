"""A private RabbitMQ node for tests: Debian's package, with ports, data and cookie of its own."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kombu import Connection

from tests.support.processes import family, free_ports, is_alive, wait_until

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""The wrapper on PATH insists on a user of its own."""


class RabbitServer:
    """A node that tests can kill and start again on the same data."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port, self._dist, self._epmd_port = free_ports(3)
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}//"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the node and its name server, and wait until it takes connections."""
        for command in (["epmd", "-address", "127.0.0.1"], [str(SERVER)]):
            with (self.home / "out.log").open("ab") as log:
                self._processes.append(
                    subprocess.Popen(
                        command, env=self._environment(), cwd=self.home, stdout=log, stderr=log,
                        stdin=subprocess.DEVNULL,
                    )
                )  # fmt: skip
        assert wait_until(self._answers, 60), (self.home / "out.log").read_text()

    def kill(self) -> None:
        """End it as a crash would."""
        for process in reversed(self._processes):
            for pid in sorted(family(process.pid), reverse=True):
                if is_alive(pid):
                    os.kill(pid, 9)
            process.wait()
        self._processes.clear()

    def _environment(self) -> dict[str, str]:
        home = str(self.home)
        own = {
            "HOME": home,
            "RABBITMQ_NODENAME": f"test{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._dist),
            "RABBITMQ_MNESIA_BASE": f"{home}/data",
            "RABBITMQ_LOG_BASE": f"{home}/log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{home}/plugins",
            "RABBITMQ_CONFIG_FILE": f"{home}/rabbitmq",
            "RABBITMQ_PID_FILE": f"{home}/pid",
            "ERL_EPMD_PORT": str(self._epmd_port),
        }
        return {**os.environ, **own}

    def _answers(self) -> bool:
        try:
            with Connection(self.url, connect_timeout=2) as connection:
                connection.connect()
        except OSError:
            return False
        return True


@contextmanager
def running_rabbitmq() -> Iterator[RabbitServer]:
    """Run a node; skip the test where Debian's package is missing; on a CI machine that is a failure."""
    if not SERVER.exists():
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing(f"{SERVER} is not there (apt-get install rabbitmq-server)")
    with tempfile.TemporaryDirectory(prefix="rabbit-", dir="/tmp") as home:
        server = RabbitServer(Path(home))
        try:
            server.start()
            yield server
        finally:
            server.kill()
