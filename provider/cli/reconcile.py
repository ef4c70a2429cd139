"""`provider reconcile`: decide uncertain payments from the chain, now."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from provider.cli._operator import operator
from provider.errors import RpcError
from provider.jobs.reconcile.decide import Decision
from provider.jobs.reconcile.run import LIMIT, ReconcileReport
from provider.jobs.reconcile.unknown import unknown_payments
from provider.platform import Platform

CONTRADICTED = 3
"""Exit status when a record says the opposite of the chain."""


@click.command("reconcile")
@click.option("--rpc", "rpcs", multiple=True, metavar="URL", help="Ask this RPC; several must agree.")
@click.option("--dry-run", is_flag=True, help="Show the decisions, record none.")
@click.option("--job", "job_id", metavar="ID", help="Look at this job only.")
@click.option("--limit", type=click.IntRange(min=1), default=LIMIT, show_default=True, help="Most jobs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context, rpcs: tuple[str, ...], dry_run: bool, job_id: str | None, limit: int, as_json: bool
) -> None:
    """Decide jobs whose payment is uncertain.

    Workers do the same after every sweep. Without --rpc the RPCs of STELLAR_RPC_URLS are asked; the first
    decides, and each other one must agree before a payment is called unpaid. Exit status 3: a finished job's
    record says the opposite of the chain.
    """
    platform = operator(ctx)
    urls = rpcs or platform.settings.stellar_rpc_urls
    if not urls:
        raise click.UsageError("no Stellar RPC: give --rpc URL, or set STELLAR_RPC_URLS")
    report = platform.reconciler_by(urls).run(job_id, limit, dry_run)
    unknown = None if job_id else _unknown(platform, urls[0])
    shown = as_object(report) | {"unknownPayments": unknown}
    click.echo(json.dumps(shown)) if as_json else _show(report, unknown)
    if report.contradictions:
        ctx.exit(CONTRADICTED)


MOST_SHOWN = 20


def as_object(report: ReconcileReport) -> dict[str, Any]:
    """Spell a report as JSON."""
    return {
        "dryRun": report.dry_run,
        "counts": dict(report.counts),
        "decisions": [_decision(decision) for decision in report.decisions],
        "confirmed": report.confirmed,
        "contradictions": [_decision(decision) for decision in report.contradictions],
        "rpcCalls": report.rpc_calls,
    }


def _decision(decision: Decision) -> dict[str, Any]:
    found = asdict(decision)
    return {"job": found.pop("job_id"), **found}


def _unknown(platform: Platform, url: str) -> list[str] | None:
    """List payments of the last hours that belong to no job here; None if the RPC cannot say."""
    settings = platform.settings
    try:
        return unknown_payments(platform.rpc(url), platform.store, settings.pay_to, settings.asset)
    except (RpcError, LookupError, TypeError, ValueError):
        return None


def _show(report: ReconcileReport, unknown: Sequence[str] | None) -> None:
    console = Console(highlight=False)
    if report.decisions:
        console.print(_table(report.decisions))
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(report.counts.items()))
    console.print(f"{counts or 'No payment is uncertain'}{' (dry run)' if report.dry_run else ''}.")
    if report.confirmed:
        console.print(f"{report.confirmed} settled jobs agree with the chain.")
    if report.contradictions:
        console.print("These finished jobs say the opposite of the chain:", style="bold red")
        console.print(_table(report.contradictions))
    if unknown:
        console.print(f"{len(unknown)} payments of the last hours belong to no job of this store:")
        console.print("\n".join(unknown[:MOST_SHOWN]))


def _table(decisions: list[Decision]) -> Table:
    table = Table("job", "payment", "why", "transaction", box=None, pad_edge=False)
    for decision in decisions:
        cells = (decision.job_id, decision.verdict.value, decision.reason, decision.transaction)
        table.add_row(*(Text(cell, overflow="fold") for cell in cells))
    return table
