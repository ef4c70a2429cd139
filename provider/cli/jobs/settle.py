"""`provider jobs settle`: a contradiction has been made good."""

import click

from provider.cli._operator import operator
from provider.jobs.store.contradictions import Contradictions


@click.command("settle")
@click.argument("job_id", metavar="ID")
@click.pass_context
def command(ctx: click.Context, job_id: str) -> None:
    """Take a job off the list of contradictions, once what it says was made good.

    The job itself stays as it is: a final status is never left. Exit status 1: it is not on the list.
    """
    try:
        settled = Contradictions(operator(ctx).store).settle(job_id)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="ID") from None
    if not settled:
        raise click.ClickException(f"{job_id} is not on the list of `provider jobs list --contradicted`")
    click.echo(f"{job_id}: settled")
