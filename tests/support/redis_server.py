"""A private Redis server for tests: that of `provider dev`, durable, on a unix socket of its own."""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import redis

from provider.localnet.redis_server import find_redis_server

DURABLE = ("--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")


class RedisServer:
    """A redis-server process that tests can stop, freeze and start again on the same data."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home = home
        self.options = options
        self.socket = home / "redis.sock"
        self.url = f"unix://{self.socket}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and wait until it answers."""
        where = ("--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.home))
        command = [str(find_redis_server()), *where, *DURABLE, *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _wait_for(self.url)

    def kill(self) -> None:
        """End the server as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _wait_for(url: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    with redis.Redis.from_url(url) as client:
        while time.monotonic() < deadline:
            with contextlib.suppress(redis.RedisError):
                client.ping()
                return
            time.sleep(0.01)
    raise RuntimeError(f"redis-server did not answer on {url}")


@contextlib.contextmanager
def running_redis(*options: str) -> Iterator[RedisServer]:
    """Run a server in a directory with a short path, since socket paths hold 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="redis-", dir="/tmp") as home:
        server = RedisServer(Path(home), *options)
        server.start()
        try:
            yield server
        finally:
            server.kill()
