"""The processes of a measurement: Redis, facilitator, web servers and workers, all on this machine."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stellar_sdk import Keypair

from provider.jobs.store.jobs import JobStore
from provider.localnet.redis_server import redis_command
from provider.networks import USDC
from provider.platform import Platform
from provider.services import load_registry
from provider.settings import Settings

NETWORK = "stellar:testnet"
SELLER = Keypair.random().public_key


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def process(*command: str, env: dict[str, str] | None = None, ready_port: int | None = None) -> Iterator[int]:
    """Run a process in a group of its own until the block ends; its pid."""
    log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    child = subprocess.Popen(
        command, env={**os.environ, **(env or {})}, stdout=log, stderr=log, start_new_session=True
    )
    try:
        if ready_port is not None:
            _wait_for(ready_port, child, log)
        yield child.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        log.close()


def _wait_for(
    port: int, child: "subprocess.Popen[bytes]", log: "tempfile._TemporaryFileWrapper[bytes]"
) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if child.poll() is not None:
            break
        time.sleep(0.05)
    log.seek(0)
    raise SystemExit(f"a server of the bench did not start:\n{log.read().decode()[-3000:]}")


@contextlib.contextmanager
def redis_server() -> Iterator[str]:
    """Run a durable Redis as `provider dev` does; its URL."""
    port = free_port()
    with tempfile.TemporaryDirectory() as home, process(*redis_command(port, Path(home)), ready_port=port):
        yield f"redis://127.0.0.1:{port}/0"


@contextlib.contextmanager
def facilitator(settle_seconds: float) -> Iterator[str]:
    """Run the facilitator that costs nothing; its URL."""
    port = free_port()
    command = (sys.executable, "-m", "bench.facilitator", str(port), str(settle_seconds))
    with process(*command, ready_port=port):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def gunicorn(app: str, env: dict[str, str], *options: str) -> Iterator[tuple[int, int]]:
    """Run an application under gunicorn, with our settings and options above; port, pid of its master."""
    port = free_port()
    command = (sys.executable, "-m", "gunicorn", "-c", "python:provider.web.server", *options, app)
    with process(*command, env={**env, "PORT": str(port), "WEB_PROCESSES": "1"}, ready_port=port) as pid:
        yield port, pid


def worker_of(master: int) -> int:
    """Find the pid of gunicorn's only worker."""
    with open(f"/proc/{master}/task/{master}/children") as children:
        return int(children.read().split()[0])


def processor_seconds(pid: int) -> float:
    """Read how long a process has computed so far."""
    with open(f"/proc/{pid}/stat") as stat:
        user, system = stat.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def settings_for(redis_url: str, facilitator_url: str) -> Settings:
    """Give the settings of the measured platform."""
    return Settings(
        redis_url=redis_url,
        broker_url=redis_url,
        facilitator_url=facilitator_url,
        pay_to=SELLER,
        asset=USDC[NETWORK],
        provider_services="bench.services",
        payer_open_jobs=10**9,  # One buyer signs for all.
    )


def environment(settings: Settings) -> dict[str, str]:
    """Spell settings as the environment of a process."""
    names = (
        "redis_url",
        "broker_url",
        "facilitator_url",
        "pay_to",
        "asset",
        "provider_services",
        "payer_open_jobs",
    )
    return {**{name.upper(): str(getattr(settings, name)) for name in names}, "LOG_LEVEL": "WARNING"}


def platform_of(settings: Settings, **given: Any) -> Platform:
    """Make the objects of the measured platform, in this process."""
    return Platform(settings, load_registry(settings.provider_services), **given)


def store_of(settings: Settings) -> JobStore:
    """Open the store of the measured platform."""
    return platform_of(settings).store
