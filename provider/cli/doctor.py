"""`provider doctor`: is everything there that a deployment needs, and what is to be done where it is not?"""

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from provider.doctor.examine import examine
from provider.doctor.finding import Finding, Level
from provider.logs import configure_logging

STYLES = {Level.OK: "green", Level.ADVICE: "yellow", Level.FAIL: "bold red", Level.SKIPPED: "dim"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Check settings, services, Redis, queues, facilitator, RPCs and the account that is paid.

    It changes nothing. Exit status 1: a check failed; its line says what to do.
    """
    configure_logging("ERROR")
    findings = list(examine())
    failed = any(finding.level is Level.FAIL for finding in findings)
    if as_json:
        click.echo(json.dumps({"ok": not failed, "checks": [asdict(finding) for finding in findings]}))
    else:
        _show(findings)
    if failed:
        ctx.exit(1)


def _show(findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for one in findings:
        seen = Text(one.seen, overflow="fold")
        if one.advice:
            seen.append(f"\n→ {one.advice}", style=STYLES[one.level])
        table.add_row(Text(one.level.value, style=STYLES[one.level]), Text(one.check, overflow="fold"), seen)
    Console(highlight=False).print(table)
