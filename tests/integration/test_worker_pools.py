"""Workers start only with a pool that can keep the promise of R2."""

import os
import subprocess
import sys

import pytest
from stellar_sdk import Keypair


def start(pool: str, queue: str, redis_url: str) -> "subprocess.Popen[str]":
    """Start a worker as an operator might."""
    given = {"PROVIDER_SERVICES": "examples.services", "PAY_TO": Keypair.random().public_key}
    env = {**os.environ, **given, "REDIS_URL": redis_url}
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "provider.workers.celery",
        "worker",
        "-P",
        pool,
        "-c",
        "1",
        "-Q",
        queue,
    ]
    return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.mark.parametrize("pool", ["threads", "solo"])
def test_a_pool_that_cannot_stop_a_handler_is_refused_at_start(pool: str, redis_url: str) -> None:
    """R2: the refusal names the queue and says what to do."""
    with start(pool, "handle.sudoku", redis_url) as worker:
        told, _ = worker.communicate(timeout=60)
    assert worker.returncode != 0
    assert "handle.sudoku needs the prefork pool" in told


def test_threads_may_settle(redis_url: str) -> None:
    """C2: settling waits on the network, and forks nothing."""
    with start("threads", "settle.sudoku", redis_url) as worker:
        assert worker.stdout is not None
        ready = any("ready" in line for line in worker.stdout)
        worker.terminate()
    assert ready
