"""A Celery worker in a process of its own, over the parts of a test's platform."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from provider.cli.worker import worker_command, worker_environment
from tests.support.jobs import Platform
from tests.support.processes import family


@contextmanager
def running_worker(
    platform: Platform, kind: str, log: Path, *, concurrency: int = 1, **variables: str
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a worker for the service `before` of `tests.chaos.busy`; kill it and its children afterwards."""
    own = {
        "PAY_TO": platform.settings.pay_to,
        "PROVIDER_SERVICES": "tests.chaos.busy:registry",
        "REDIS_URL": platform.redis_url,
        "BROKER_URL": platform.settings.broker_url,
        "FACILITATOR_URL": platform.facilitator.url,
        "CHAOS_NOTES": str(log.parent),
        **worker_environment((kind,)),
        **variables,
    }
    command = worker_command((kind,), [f"{kind}.before"], concurrency)
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, env={**os.environ, **own}, stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
    try:
        yield process
    finally:
        for pid in family(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        process.wait()
