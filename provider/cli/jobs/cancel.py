"""`provider jobs cancel`: cancel some jobs, or those of a service."""

import json
from collections import Counter

import click

from provider.cli._operator import operator
from provider.errors import CancelRefused, JobNotFound
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.recover.cancel import CANCELLED, STOPPING
from provider.jobs.store.stats import count_jobs
from provider.platform import Platform

WAITING = (Status.QUEUED,)
ALL = (Status.QUEUED, Status.RUNNING)
DONE = frozenset({CANCELLED, STOPPING})


@click.command("cancel")
@click.argument("job_ids", metavar="[ID]...", nargs=-1)
@click.option("--service", metavar="NAME", help="Cancel the jobs of this service, offered or not.")
@click.option("--queued", is_flag=True, help="With --service: leave those alone that run.")
@click.option("--forfeit", is_flag=True, help="Also paid jobs; nobody pays their buyers back.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    job_ids: tuple[str, ...],
    service: str | None,
    queued: bool,
    forfeit: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Cancel jobs that are queued or running.

    A running handler is told to stop, and killed a second later. Nothing is charged for an on-success
    job; a job that is being settled cannot be cancelled any more. Exit status 1: some were not cancelled.
    """
    if bool(job_ids) == bool(service) or (queued and not service):
        raise click.UsageError("give job ids, or --service NAME with or without --queued")
    parts = operator(ctx)
    statuses = WAITING if queued else ALL
    if not yes:
        click.confirm(_question(parts, job_ids, service, statuses, forfeit), abort=True, err=True)
    if service:
        counts = parts.canceller.cancel_all(service, statuses, forfeit=forfeit)
        click.echo(json.dumps({"service": service, "counts": counts}) if as_json else _sum(counts))
        ctx.exit(int(any(outcome not in DONE | {"left"} for outcome in counts)))
    results = {job_id: _cancel(parts, job_id, forfeit) for job_id in job_ids}
    click.echo(
        json.dumps(results) if as_json else "\n".join(f"{i}: {result}" for i, result in results.items())
    )
    ctx.exit(int(bool(set(results.values()) - DONE)))


def _question(
    parts: Platform,
    job_ids: tuple[str, ...],
    service: str | None,
    statuses: tuple[Status, ...],
    forfeit: bool,
) -> str:
    kept = " Paid ones, too: their buyers lose what they paid." if forfeit else ""
    if service is None:
        return f"Cancel {len(job_ids)} job{'s' if len(job_ids) > 1 else ''}?{kept}"
    counts = count_jobs(parts.store, [service])[service]
    found = " and ".join(f"{counts[status]} {status.value}" for status in statuses)
    return f"Cancel the jobs of {service}: {found}?{kept}"


def _cancel(parts: Platform, job_id: str, forfeit: bool) -> str:
    try:
        return _result(parts.canceller.cancel(job_id, forfeit=forfeit))
    except (CancelRefused, JobNotFound) as refused:
        return f"{refused.code}: {refused.detail.replace('?forfeit=true', '--forfeit')}"


def _result(job: Job) -> str:
    return CANCELLED if job.status is Status.CANCELLED else STOPPING


def _sum(counts: Counter[str]) -> str:
    lines = [f"{outcome}: {count}" for outcome, count in sorted(counts.items())]
    return "\n".join(lines) or "There was nothing to cancel."
