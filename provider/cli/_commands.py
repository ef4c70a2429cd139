"""Groups of commands that are modules of a package, imported when they are asked for."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from provider.errors import ConfigurationError, ProviderError

DISTRIBUTION = "x402-provider"
EXTRAS: Mapping[str, str] = {"chain": "local", "demo": "platform,local", "dev": "platform,local"}
"""What commands need beside the bare package, where it is not `platform`."""
WRONG_CONFIGURATION = 2
WHOLE = 1000
"""Longer than any first sentence: a list of commands wraps it, and cuts nothing off."""


class Commands(click.Group):
    """Lists its commands without cutting off what is said of them."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole first sentence."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [(name, found.get_short_help_str(WHOLE)) for name, found in commands.items() if found]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class LazyCommands(Commands):
    """Finds subcommands among the modules of a package and prints errors as plain text."""

    def __init__(self, *args: Any, package: str = "provider.cli", **options: Any) -> None:
        super().__init__(*args, **options)
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every module but the main one and the helpers."""
        names = (module.name for module in pkgutil.iter_modules(import_module(self._package).__path__))
        return sorted(name.replace("_", "-") for name in names if name != "main" and name[0] != "_")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command; one whose packages are not installed says which extra has them."""
        if cmd_name not in self.list_commands(ctx):
            return None
        try:
            module = import_module(f"{self._package}.{cmd_name.replace('-', '_')}")
        except ModuleNotFoundError as error:
            package = str(error.name).partition(".")[0]
            if package == "provider":
                raise
            return stand_in(cmd_name, package)
        command: click.Command | None = getattr(module, "command", None)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors that the user can mend are printed without a traceback."""
        try:
            return super().invoke(ctx)
        except ConfigurationError as error:
            click.echo(str(error), err=True)
            ctx.exit(WRONG_CONFIGURATION)
        except ProviderError as error:
            raise click.ClickException(describe(error)) from error


def stand_in(name: str, package: str) -> click.Command:
    """Make a command that only says how to install what the one of this name needs."""
    extras = EXTRAS.get(name, "platform")
    sentence = f"Needs packages that are not installed ({package}): pip install '{DISTRIBUTION}[{extras}]'."

    @click.command(name, help=sentence, context_settings={"ignore_unknown_options": True})
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> None:
        raise click.ClickException(sentence)

    return command


def describe(error: ProviderError) -> str:
    """Return the message of an error for operators, with its cause where the message has none."""
    if not error.for_operators:
        return error.detail
    return f"{error.for_operators} ({error.__cause__})" if error.__cause__ else error.for_operators
