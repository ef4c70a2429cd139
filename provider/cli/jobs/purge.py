"""`provider jobs purge`: make room in Redis before retention does."""

import json

import click

from provider.cli._operator import operator
from provider.cli._times import Since
from provider.jobs.model.status import FINAL, Status
from provider.jobs.recover.purge import Purge

CHOICES = sorted(status.value for status in FINAL)


@click.command("purge")
@click.option(
    "--older-than",
    "before_ms",
    type=Since(),
    required=True,
    help="Finished before: 12h, 7d, or ISO 8601.",
)
@click.option("--service", "services", multiple=True, metavar="NAME", help="Of this service; repeatable.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(CHOICES),
    help="In this status; repeatable.",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    before_ms: int,
    services: tuple[str, ...],
    statuses: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Delete finished jobs, with their outputs, before their retention is over.

    Buyers cannot look at them any more. A payment that could still land keeps its job; that of a deleted one
    cannot be used again. It works in a Redis that is full.
    """
    store = operator(ctx).store
    chosen = services or tuple(store.service_names())
    if not yes:
        click.confirm(f"Delete finished jobs of {', '.join(chosen) or 'no service'}?", abort=True, err=True)
    wanted = [Status(status) for status in statuses] or list(FINAL)
    deleted = Purge(store).run(chosen, wanted, finished_before_ms=before_ms)
    lines = [f"{service}: {count} deleted" for service, count in sorted(deleted.items())]
    click.echo(json.dumps(deleted) if as_json else "\n".join(lines) or "There was nothing to delete.")
