"""`provider`: each module of this package that holds a click command named `command` is a subcommand.

A module is imported when its command is asked for, so `provider pay` needs no Flask and no Celery. The
command is named as the module, with dashes; helpers start with an underscore.
"""

import os
import pkgutil
import sys
from importlib import import_module
from typing import Any

import click

import provider
import provider.cli
from config.settings import SettingsError
from provider.errors import ConfigurationError, ProviderError

WRONG_CONFIGURATION = 2


class LazyCommands(click.Group):
    """Finds subcommands among the modules of `provider.cli` and tells errors in plain text."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every module but this one and the helpers."""
        names = (module.name for module in pkgutil.iter_modules(provider.cli.__path__))
        return sorted(name.replace("_", "-") for name in names if name != "main" and name[0] != "_")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"provider.cli.{cmd_name.replace('-', '_')}")
        command: click.Command | None = getattr(module, "command", None)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what the user can mend is told without a traceback."""
        try:
            return super().invoke(ctx)
        except (ConfigurationError, SettingsError) as error:
            click.echo(str(error), err=True)
            ctx.exit(WRONG_CONFIGURATION)
        except ProviderError as error:
            raise click.ClickException(error.detail) from error


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(provider.__version__, prog_name="provider", message="%(prog)s %(version)s")
def main() -> None:
    """Sell services to software agents and be paid in USDC on Stellar."""
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)  # Services are modules of the directory one starts in, as with Celery.


if __name__ == "__main__":
    sys.exit(main(prog_name="provider"))
