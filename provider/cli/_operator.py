"""What the commands of an operator work with."""

import click

from provider.logs import configure_logging
from provider.platform import Platform


def operator(ctx: click.Context | None = None) -> Platform:
    """Return the platform that this command was called with, or the one that the environment describes."""
    given = ctx.find_object(Platform) if ctx else None
    if given is None:
        configure_logging("WARNING")
    return given or Platform.from_env()
