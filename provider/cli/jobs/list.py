"""`provider jobs list`: a page of jobs, newest first."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from provider.cli._operator import operator
from provider.cli._times import Since, age, now_ms
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.model.wire import dump_job
from provider.jobs.store.contradictions import Contradiction, Contradictions
from provider.jobs.store.listing import JobIndex, JobPage
from provider.networks import token_units

HEADINGS = ("job", "status", "age", "error")


@click.command("list")
@click.option(
    "--service", "services", multiple=True, metavar="NAME", help="Of this service; may be repeated."
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([status.value for status in Status]),
    help="In this status; may be repeated.",
)
@click.option("--since", "since_ms", type=Since(), help="Claimed since then: 90m, 12h, 7d, or ISO 8601.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Jobs on a page.")
@click.option("--after", default="", metavar="CURSOR", help="Go on after the page that ended with this.")
@click.option("--contradicted", is_flag=True, help="Those whose record the chain contradicts, until settled.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    services: tuple[str, ...],
    statuses: tuple[str, ...],
    since_ms: int | None,
    limit: int,
    after: str,
    contradicted: bool,
    as_json: bool,
) -> None:
    """List jobs, newest first, a page at a time.

    What a page costs follows the jobs on it, not those stored. Services that are no longer offered are
    listed, too. The last line says how to go on.
    """
    parts = operator(ctx)
    store = parts.store
    stored = store.service_names()
    known = {*stored, *(service.name for service in parts.registry)}
    if unknown := set(services) - known:
        raise click.BadParameter(
            f"no service {', '.join(sorted(unknown))}; there are: {', '.join(sorted(known))}"
        )
    if contradicted:
        _show_contradicted(Contradictions(store).list(services or None), as_json)
        return
    wanted = [Status(status) for status in statuses] or list(Status)
    try:
        page = JobIndex(store).page(
            services or stored, wanted, since_ms=since_ms or 0, limit=limit, after=after
        )
    except ValueError:
        raise click.BadParameter(f"{after!r} is not what a page ended with", param_hint="--after") from None
    click.echo(json.dumps(as_object(page))) if as_json else _show(page)


def as_object(page: JobPage) -> dict[str, Any]:
    """Spell a page as JSON."""
    return {"jobs": [_brief(job) for job in page.jobs], "after": page.after}


def _brief(job: Job) -> dict[str, Any]:
    wire = dump_job(job)
    wire.pop("output", None)
    return wire


def _show(page: JobPage) -> None:
    """Print a line for each job; an id is never broken, since the next command needs it whole."""
    if page.jobs:
        rows = [HEADINGS, *(_row(job, now_ms()) for job in page.jobs)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            click.echo(
                "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            )
    else:
        click.echo("No jobs." if page.after is None else "These jobs have moved on.")
    if page.after is not None:
        click.echo(f"More: --after {page.after}", err=True)


def _show_contradicted(found: Sequence[Contradiction], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"jobs": [asdict(one) for one in found]}))
        return
    for one in found:
        says = "says charged, the chain not paid" if one.charged else "says not charged, the chain paid"
        click.echo(f"{one.job_id}  {one.status}  {says}  {token_units(one.amount)}  {one.payer}")
        click.echo(f"  {one.reason}; transaction {one.transaction or 'unknown'}")
    click.echo("Settle each with `provider jobs settle ID`." if found else "No contradictions.")


def _row(job: Job, now: int) -> tuple[str, ...]:
    return job.id, job.status.value, age(job.created_at_ms, now), job.error or ""
