"""`provider worker`: become a Celery worker for one kind of work, with the pool that fits it."""

import os
import socket
from collections.abc import Collection, Iterable, Sequence

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
@click.option("--service", "only", multiple=True, metavar="NAME", help="Serve this service; repeatable.")
@click.option("--except", "without", multiple=True, metavar="NAME", help="Serve all but this; repeatable.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Jobs at once. Default: 4 handle, 16 others.")
@app_option
def command(
    kinds: tuple[str, ...], only: tuple[str, ...], without: tuple[str, ...], concurrency: int | None, app: str
) -> None:
    """Run a worker that handles jobs, settles payments, or does maintenance.

    Handlers need processes, since nothing else can stop them; settling and maintenance wait on the
    network and share threads (standard C2). So `handle` stands alone; `settle maintenance` may be one.
    A machine made for some services takes them with --service; each of the others needs a worker elsewhere.
    """
    if "handle" in kinds and len(set(kinds)) > 1:
        raise click.UsageError("handle needs a worker of its own: its pool is another one (standard C2)")
    if (only or without) and "maintenance" in kinds:
        raise click.UsageError("maintenance is for all services: start it without --service and --except")
    os.environ.update(worker_environment(kinds))
    services = served(list(load_registry(Settings.from_env().provider_services)), only, without)
    if not (names := [name for kind in kinds for name in queues(kind, services)]):
        raise click.UsageError("all these services are remote: `provider remote-worker` runs their jobs")
    become(worker_command(kinds, names, concurrency, app, node_name(kinds, only, without)))


def served(services: Sequence[Service], only: Collection[str], without: Collection[str]) -> list[Service]:
    """Choose the services of a worker. Raises `click.UsageError` for unknown names, and if none is left."""
    if only and without:
        raise click.UsageError("give --service or --except, not both")
    names = sorted(service.name for service in services)
    if unknown := sorted({*only, *without}.difference(names)):
        raise click.UsageError(f"no service is called {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = [
        service for service in services if (not only or service.name in only) and service.name not in without
    ]
    if not chosen:
        raise click.UsageError("--except leaves no service to serve")
    return chosen


def node_name(kinds: Iterable[str], only: Iterable[str] = (), without: Iterable[str] = ()) -> str:
    """Name the worker for Flower and logs: two of one machine that serve different services differ."""
    chosen = "".join([*(f"+{name}" for name in sorted(only)), *(f"-{name}" for name in sorted(without))])
    return f"{'-'.join(kinds)}{chosen}@{socket.gethostname()}"


def worker_command(
    kinds: tuple[str, ...], names: list[str], concurrency: int | None, app: str = APP, node: str = ""
) -> list[str]:
    """Build the command line of Celery, for queues of these names."""
    handles = "handle" in kinds
    pool, jobs = ("prefork", 4) if handles else ("threads", 16)
    return [
        *python_module("celery", "--quiet", "--app", app, "worker"),
        *("--pool", pool, "--concurrency", str(concurrency or jobs)),
        *("--queues", ",".join(names)),
        *("--hostname", node or node_name(kinds)),
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
