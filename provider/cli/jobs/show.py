"""`provider jobs show`: all that is stored about a job."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from provider.cli._operator import operator
from provider.jobs.model.status import Status
from provider.jobs.store.inspect import read_dossier


@click.command("show")
@click.argument("job_id", metavar="ID")
@click.option("--input", "input_too", is_flag=True, help="Show the input, too.")
@click.option("--output", "output_too", is_flag=True, help="Show the output, too, once it is paid.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, job_id: str, input_too: bool, output_too: bool, as_json: bool) -> None:
    """Show everything about a job but the signed payment.

    Where it stands, what was agreed, its starts, its place or lease, when the sweep looks at it, what its
    settlement came to. Input and output are what buyers sent and bought: they are shown only when asked for.
    """
    found = read_dossier(operator(ctx).store, job_id)
    if output_too and found.job.status is not Status.SUCCEEDED:
        click.echo("There is no output that is paid for; an unpaid one is shown to nobody (J14).", err=True)
    wire = found.as_object(input_too=input_too, output_too=output_too)
    click.echo(json.dumps(wire, indent=2)) if as_json else _show(wire)


def _show(wire: Mapping[str, Any]) -> None:
    rows = list(_rows(wire))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        click.echo(f"{name:<{width}}  {text}")


def _rows(wire: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Give a line for each value that there is; those of an object under its name."""
    for name, value in wire.items():
        if isinstance(value, dict) and name not in ("output", "progress"):
            yield from _rows(value, f"{name}.")
        elif value is not None:
            yield above + name, value if isinstance(value, str) else json.dumps(value)
