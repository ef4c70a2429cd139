"""`provider`: each module of this package that holds a click command named `command` is a subcommand.

A module is imported when its command is asked for, so `provider pay` needs no Flask and no Celery. The
command is named as the module, with dashes; helpers start with an underscore. A package is a group.
"""

import os
import sys

import click

import provider
from provider.cli._commands import LazyCommands


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(provider.__version__, prog_name="provider", message="%(prog)s %(version)s")
def main() -> None:
    """Sell services to software agents and be paid in USDC on Stellar."""
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)  # Services are modules of the directory one starts in, as with Celery.


if __name__ == "__main__":
    sys.exit(main(prog_name="provider"))
