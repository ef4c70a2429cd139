"""`provider jobs`: look at the jobs of this provider, and act on them."""

import click

from provider.cli._commands import LazyCommands


@click.group("jobs", cls=LazyCommands, package="provider.cli.jobs")
def command() -> None:
    """List, show, cancel and retry jobs."""
