"""`provider worker`: become a Celery worker for one kind of work, with the pool that fits it."""

import os
import socket
from collections.abc import Iterable

import click

from provider.broker.queues import MAINTENANCE, handle_queue, settle_queue
from provider.cli._processes import APP, app_option, become, python_module
from provider.services import Service
from provider.services.registry import load_registry
from provider.settings import Settings

QUIET = ["--without-gossip", "--without-mingle"]
"""Workers need no messages of each other: all they share is the job store."""


@click.command("worker")
@click.argument("kinds", nargs=-1, required=True, type=click.Choice(["handle", "settle", "maintenance"]))
@click.option("--concurrency", type=click.IntRange(min=1), help="Jobs at once. Default: 4 handle, 16 others.")
@app_option
def command(kinds: tuple[str, ...], concurrency: int | None, app: str) -> None:
    """Run a worker that handles jobs, settles payments, or does maintenance.

    Handlers need processes, since nothing else can stop them; settling and maintenance wait on the
    network and share threads (standard C2). So `handle` stands alone; `settle maintenance` may be one.
    """
    if "handle" in kinds and len(set(kinds)) > 1:
        raise click.UsageError("handle needs a worker of its own: its pool is another one (standard C2)")
    os.environ.update(worker_environment(kinds))
    services = list(load_registry(Settings.from_env().provider_services))
    if not (names := [name for kind in kinds for name in queues(kind, services)]):
        raise click.UsageError("all services are remote: `provider remote-worker` runs their jobs")
    become(worker_command(kinds, names, concurrency, app))


def worker_command(
    kinds: tuple[str, ...], names: list[str], concurrency: int | None, app: str = APP
) -> list[str]:
    """Build the command line of Celery, for queues of these names."""
    handles = "handle" in kinds
    pool, jobs = ("prefork", 4) if handles else ("threads", 16)
    return [
        *python_module("celery", "--quiet", "--app", app, "worker"),
        *("--pool", pool, "--concurrency", str(concurrency or jobs)),
        *("--queues", ",".join(names)),
        *("--hostname", f"{'-'.join(kinds)}@{socket.gethostname()}"),
        *QUIET,
    ]


def queues(kind: str, services: Iterable[Service]) -> list[str]:
    """Name the queues of one kind of work; remote services have none for their handlers (§11)."""
    if kind == "maintenance":
        return [MAINTENANCE]
    if kind == "settle":
        return [settle_queue(service.name) for service in services]
    return [handle_queue(service.name) for service in services if not service.remote]


def worker_environment(kinds: tuple[str, ...]) -> dict[str, str]:
    """Let a SIGTERM to a prefork worker give its running jobs their time, as SIGQUIT does."""
    return {"REMAP_SIGTERM": "SIGQUIT"} if "handle" in kinds else {}
