"""`provider stranded`: open jobs of services that are no longer offered."""

import json

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from provider.cli._operator import operator
from provider.cli._times import age
from provider.jobs.store.stats import OPEN, read_stranded


@click.command("stranded")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List services that have open jobs and are not for sale.

    Offered again, in PROVIDER_SERVICES of web and workers, they run; `provider jobs cancel --service NAME`
    cancels them. Queued jobs of upfront services are paid.
    """
    parts = operator(ctx)
    found, now = read_stranded(parts.store, parts.registry), parts.store.now_ms()
    if as_json:
        shown = {
            name: {**one.jobs, "oldestSeconds": max(0, now - one.oldest_ms) // 1000}
            for name, one in found.items()
        }
        click.echo(json.dumps(shown))
        return
    if not found:
        click.echo("Every open job is of a service that is offered.")
        return
    table = Table("service", box=None, pad_edge=False)
    for heading in (*(status.value for status in OPEN), "oldest"):
        table.add_column(heading, justify="right")
    for name, one in found.items():
        counts = (str(one.jobs.get(status, 0)) for status in OPEN)
        table.add_row(Text(name, overflow="fold"), *counts, age(one.oldest_ms, now))
    Console(highlight=False).print(table)
