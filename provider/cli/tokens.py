"""`provider tokens`: the tokens under which remote workers claim jobs."""

import json
from datetime import UTC, datetime

import click

from provider.cli._commands import Commands
from provider.cli._operator import operator
from provider.cli._services import named_services
from provider.jobs.store.tokens import NAME, RemoteWorker, Tokens
from provider.services.registry import load_registry


@click.group("tokens", cls=Commands)
def command() -> None:
    """Create, list and revoke the tokens of remote workers.

    A token names one worker and the services whose jobs it may claim. Redis holds a digest of it.
    """


@command.command("create")
@click.option("--worker", required=True, help="Name of the worker: a-z, 0-9 and -.")
@click.option("--services", required=True, help="Services it may claim, by comma.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def create(worker: str, services: str, as_json: bool) -> None:
    """Make the token of a worker and print it, this once."""
    if not NAME.fullmatch(worker):
        raise click.UsageError("a worker's name has a-z, 0-9 and -, and 63 characters at most")
    names = _remote([name.strip() for name in services.split(",") if name.strip()])
    token = _tokens().create(worker, names)
    click.echo(json.dumps({"worker": worker, "services": names, "token": token}) if as_json else token)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(as_json: bool) -> None:
    """List the workers that have a token, and what they may claim."""
    workers = _tokens().list()
    if as_json:
        click.echo(json.dumps([_as_json(worker) for worker in workers]))
        return
    for worker in workers:
        click.echo(f"{worker.name}  since {_created(worker)}  {','.join(worker.services)}")
    if not workers:
        click.echo("No worker has a token.", err=True)


@command.command("revoke")
@click.argument("worker")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def revoke(worker: str, as_json: bool) -> None:
    """Take a worker's token back: its next request is refused, and the jobs it holds go to others.

    Exit status 1: it has no token.
    """
    revoked = _tokens().revoke(worker)
    text = "revoked" if revoked else "has no token"
    click.echo(json.dumps({"worker": worker, "revoked": revoked}) if as_json else f"{worker} {text}")
    raise SystemExit(0 if revoked else 1)


def _remote(names: list[str]) -> list[str]:
    """Check that these are remote services: a misspelt one would be a worker that never gets a job."""
    services = load_registry(named_services())
    remote = sorted(services.remote_names)
    if wrong := sorted(set(names) - set(remote)):
        known = ", ".join(remote) or "none"
        raise click.UsageError(f"no remote services: {', '.join(wrong)}; those for sale are: {known}")
    if not names:
        raise click.UsageError("name at least one service")
    return sorted(set(names))


def _tokens() -> Tokens:
    return operator().tokens


def _as_json(worker: RemoteWorker) -> dict[str, object]:
    return {"worker": worker.name, "services": list(worker.services), "createdAt": _created(worker)}


def _created(worker: RemoteWorker) -> str:
    time = datetime.fromtimestamp(worker.created_at_ms / 1000, UTC)
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
