"""`provider stats`: how many jobs there are, and how the lanes are doing."""

import json
from collections.abc import Mapping
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from provider.cli._operator import operator
from provider.cli._times import age
from provider.jobs.model.status import Status
from provider.jobs.store.stats import LaneStats, read_stats, read_stranded
from provider.services import Service

HEADINGS = {Status.PAYMENT_UNCERTAIN: "uncertain"}
"""Shorter than the status, so that a table fits 80 columns."""


@click.command("stats")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Count jobs by service and status, and show what each lane does now.

    Counting costs the same however many jobs are stored, so it may be asked for at any time.
    """
    parts = operator(ctx)
    services, now = list(parts.registry), parts.store.now_ms()
    lanes = read_stats(parts.store, services)
    stranded = read_stranded(parts.store, parts.registry)
    if as_json:
        shown = [_as_object(service, lanes[service.name], now) for service in services]
        click.echo(json.dumps({"services": shown, "stranded": sorted(stranded)}))
        return
    console = Console(highlight=False)
    console.print(_jobs(lanes))
    console.print()
    console.print(_lanes(services, lanes, now))
    if stranded:
        click.echo(f"\nNot offered, with open jobs: {', '.join(stranded)}. See `provider stranded`.")


def _as_object(service: Service, lane: LaneStats, now: int) -> dict[str, Any]:
    oldest = lane.oldest_uncertain_ms
    return {
        "name": service.name,
        "jobs": {status.value: count for status, count in lane.jobs.items()},
        "waiting": lane.depth,
        "busy": lane.busy,
        "concurrency": service.concurrency,
        "averageSeconds": round(lane.average_seconds, 3),
        "waitSeconds": lane.wait_seconds,
        "oldestUncertainSeconds": None if oldest is None else max(0, now - oldest) // 1000,
    }


def _jobs(lanes: Mapping[str, LaneStats]) -> Table:
    table = Table("jobs", box=None, padding=(0, 1, 0, 0), pad_edge=False)  # Long names need the room.
    table.columns[0].overflow = "fold"
    for status in Status:
        table.add_column(HEADINGS.get(status, status.value), justify="right", no_wrap=True)
    for name, lane in lanes.items():
        table.add_row(Text(name), *(str(lane.jobs[status]) for status in Status))
    return table


def _lanes(services: list[Service], lanes: Mapping[str, LaneStats], now: int) -> Table:
    table = Table("lane", box=None, pad_edge=False)
    table.columns[0].overflow = "fold"
    for heading in ("waiting", "busy", "average", "wait now", "oldest uncertain"):
        table.add_column(heading, justify="right", no_wrap=True)
    for service in services:
        lane = lanes[service.name]
        cells = (str(lane.depth), f"{lane.busy}/{service.concurrency}", f"{lane.average_seconds:.1f} s")
        oldest = age(lane.oldest_uncertain_ms, now)
        table.add_row(Text(service.name), *cells, f"{lane.wait_seconds} s", oldest)
    return table
