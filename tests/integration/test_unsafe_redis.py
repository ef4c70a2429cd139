"""Deployed processes refuse a Redis that may evict claims, and wait for one that is away (C4, C5)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from redis import Redis
from stellar_sdk import Keypair

from tests.support.gunicorn import running_gunicorn
from tests.support.processes import wait_until
from tests.support.redis_server import RedisServer, running_redis

WEB = ["gunicorn", "-c", "config/gunicorn.py", "provider.web.wsgi:app"]
WORKER = [
    "celery",
    "-A",
    "provider.workers.celery",
    "worker",
    "-P",
    "threads",
    "-c",
    "1",
    "-Q",
    "settle.sudoku",
]
BEAT = ["celery", "-A", "provider.workers.celery", "beat"]


@pytest.fixture(scope="module")
def evicting() -> Iterator[RedisServer]:
    """Run a Redis as a cache is run."""
    with running_redis("--maxmemory-policy", "allkeys-lru") as server:
        yield server


def environment(redis_url: str) -> dict[str, str]:
    return {
        **os.environ,
        "PROVIDER_SERVICES": "examples.services",
        "PAY_TO": Keypair.random().public_key,
        "REDIS_URL": redis_url,
        "BROKER_URL": "memory://",
        "PORT": "0",
    }


@pytest.mark.parametrize("command", [WEB, WORKER, BEAT], ids=["web", "worker", "beat"])
def test_an_evicting_redis_is_refused_at_start(command: list[str], evicting: RedisServer) -> None:
    """C4: the process ends, and says which setting is wrong and what it should be."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        env=environment(evicting.url),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode != 0
    assert "redis eviction: maxmemory-policy allkeys-lru; set `maxmemory-policy noeviction`" in (
        done.stdout + done.stderr
    )


def test_a_web_process_starts_while_redis_is_away() -> None:
    """C5: it answers for itself, and comes to life with Redis."""
    with running_gunicorn(environment("unix:///tmp/no-such.sock")):
        pass


def test_a_web_process_serves_nothing_from_a_redis_that_comes_back_evicting(tmp_path: Path) -> None:
    """C4: the check at its start could not be made, and the one it has now makes Redis as good as away."""
    server = RedisServer(tmp_path, "--maxmemory-policy", "allkeys-lru")
    with running_gunicorn(environment(server.url)) as url:
        server.start()
        try:
            assert requests.get(f"{url}/readyz", timeout=5).status_code == 503
            assert requests.post(f"{url}/run/qr-code", timeout=5).status_code == 503
            with Redis.from_url(server.url) as operator:
                operator.config_set("maxmemory-policy", "noeviction")
            assert wait_until(lambda: requests.get(f"{url}/readyz", timeout=5).ok, 5)
        finally:
            server.kill()


def test_a_worker_starts_while_redis_is_away() -> None:
    """C5: it waits for work."""
    given = environment("unix:///tmp/no-such.sock")
    with subprocess.Popen(
        [sys.executable, "-m", *WORKER],
        env=given,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as worker:
        assert worker.stdout is not None
        ready = any(" ready" in line for line in worker.stdout)
        worker.terminate()
    assert ready
