"""`provider remote-worker`: run any program for the jobs of a provider, on another machine."""

import os
import shlex
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from provider.cli._secrets import read_secret
from provider.logs import configure_logging
from provider.remote_worker.gateway_client import GatewayClient
from provider.remote_worker.worker import Worker

TOKEN_VARIABLE = "PROVIDER_WORKER_TOKEN"


@click.command("remote-worker")
@click.option("--url", required=True, help="URL of the platform.")
@click.option(
    "--token-file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"File with the token of this worker. Default: the variable {TOKEN_VARIABLE}.",
)  # fmt: skip
@click.option("--services", default="", help="Services to work for, by comma. Default: all the token allows.")
@click.option("--exec", "program", required=True, help="Command that runs a job, without a shell.")
@click.option("--concurrency", type=click.IntRange(min=1), default=1, show_default=True, help="Jobs at once.")
@click.option(
    "--grace", "grace_seconds", type=click.FloatRange(min=0), default=5.0, show_default=True,
    help="Seconds between SIGTERM and SIGKILL of a program that has to end.",
)  # fmt: skip
def command(
    url: str, token_file: Path | None, services: str, program: str, concurrency: int, grace_seconds: float
) -> None:
    """Claim jobs and run a command for each of them, until SIGTERM.

    The command reads the input as JSON from its standard input and writes the output as JSON to its standard
    output. JOB_ID, JOB_SERVICE, JOB_ATTEMPT and JOB_DEADLINE are in its environment, JOB_CONTEXT names a file
    with what earlier attempts completed, and JOB_MESSAGES one that takes progress and checkpoints. Exit
    status 75 is a transient failure, 65 a deterministic one; others fail the job, unless the service declares
    otherwise.
    """
    token = read_secret(token_file, TOKEN_VARIABLE, "--token-file")
    arguments = shlex.split(program)
    if not arguments:
        raise click.UsageError("--exec names no command")
    if shutil.which(arguments[0]) is None:  # Every claimed job would fail.
        raise click.UsageError(f"--exec: {arguments[0]!r} is no program here; give its path, or mend PATH")
    configure_logging(os.environ.get("LOG_LEVEL", "INFO"))
    names = [name.strip() for name in services.split(",") if name.strip()]
    worker = Worker(
        GatewayClient(url, token), names, arguments, concurrency=concurrency, grace_seconds=grace_seconds
    )
    with ThreadPoolExecutor(1) as pool:  # A signal handler may not take a lock that its own thread holds.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        pool.submit(worker.run).result()
