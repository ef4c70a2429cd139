"""`provider jobs retry`: do now what a job waits for."""

import json

import click

from provider.cli._operator import operator


@click.command("retry")
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, job_id: str, as_json: bool) -> None:
    """Do now what a job waits for.

    The pause after a transient failure is ended, a job that waits is woken, its settlement asked for once
    more, an uncertain payment looked up on the chain. What has ended is not tried again: a final status is
    never left, and its buyer makes a new call. Exit status 1: there is nothing to do, and the message
    says why.
    """
    done = operator(ctx).nudge.retry(job_id)
    click.echo(json.dumps({"job": job_id, "done": done}) if as_json else f"{job_id}: {done}")
