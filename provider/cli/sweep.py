"""`provider sweep`: pick up what a crash left lying, now."""

import json

import click

from provider.cli._operator import operator
from provider.jobs.recover.sweep import SweepReport


@click.command("sweep")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Look at every job that is due, once.

    Workers do the same every SWEEP_SECONDS; running it beside them harms nobody.
    """
    report = operator().sweep.run()
    found = {"actions": report.actions, "woken": report.woken, "stranded": report.stranded}
    click.echo(json.dumps(found) if as_json else "\n".join(_lines(report)))


def _lines(report: SweepReport) -> list[str]:
    lines = [f"{name.replace('_', ' ')}: {count}" for name, count in sorted(report.actions.items())]
    lines += [f"wake-ups sent: {report.woken}"] if report.woken else []
    lines += [f"stranded, {name}: {count} waiting" for name, count in sorted(report.stranded.items())]
    return lines or ["Nothing was due."]
