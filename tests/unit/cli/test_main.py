"""The command line as a whole: finding commands, and telling errors in plain text."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from provider import __version__
from provider.cli._commands import describe
from provider.cli.main import LazyCommands, main
from provider.errors import ConfigurationError, JobNotFound, RpcUnreachable, SettingsError, StoreUnavailable


@pytest.mark.parametrize("command", ["chain", "dev", "demo", "facilitator", "inspect-payment", "worker"])
def test_every_module_is_a_command(command: str) -> None:
    """Underscores become dashes."""
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {command}")


def groups() -> list[list[str]]:
    """Name the groups of commands, the outermost by no word."""
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return [[], *([name] for name, command in found.items() if isinstance(command, click.Group))]


@pytest.mark.parametrize("group", groups(), ids=lambda words: " ".join(words) or "provider")
def test_a_list_of_commands_cuts_nothing_off(group: list[str]) -> None:
    """Each has its whole first sentence, over several lines if it must."""
    lines = CliRunner().invoke(main, [*group, "--help"]).stdout.partition("Commands:\n")[2].splitlines()
    assert len(lines) >= 3
    assert [line for line in lines if "..." in line or len(line) > 80] == []
    assert lines[-1].endswith(".")


def test_commands_of_a_group_are_found_as_those_of_the_whole() -> None:
    """A package is a group."""
    assert ["jobs"] in groups()
    assert CliRunner().invoke(main, ["jobs", "no-such-command"]).exit_code == 2
    shown = CliRunner().invoke(main, ["jobs", "cancel", "--help"])
    assert (shown.exit_code, "--forfeit" in shown.stdout) == (0, True)


def test_operators_are_told_what_they_can_do_about_it() -> None:
    """Callers are told to send the call again; an error that is the same for both is told as it is."""
    away = StoreUnavailable()
    assert describe(away).startswith("Redis does not answer")
    away.__cause__ = ConnectionError("no route to host")
    assert describe(away).endswith("(no route to host)")
    assert describe(JobNotFound()) == JobNotFound().detail


def test_the_version_is_describe() -> None:
    """With the name of the program, so that a report may quote the line."""
    assert CliRunner().invoke(main, ["--version"]).output == f"provider {__version__}\n"


def test_an_unknown_command_is_refused() -> None:
    """Exit status 2, as of every wrong usage."""
    result = CliRunner().invoke(main, ["no-such-command"])
    assert result.exit_code == 2
    assert "No such command" in result.output


def test_a_buyer_needs_neither_flask_nor_celery() -> None:
    """Commands are imported when they are asked for."""
    code = "import sys; from provider.cli.main import main; main(['chain', '--help'], standalone_mode=False);"
    code += "sys.exit(bool({'flask', 'celery'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30).returncode == 0


def without(module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run `provider` where a module is not installed."""
    code = (
        f"import sys; sys.modules[{module!r}] = None; from provider.cli.main import main; main({arguments!r})"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize(
    ("module", "arguments", "extras"),
    [
        ("honcho", ("dev", "--port-base", "0"), "platform,local"),
        ("trustme", ("chain",), "local"),
        ("environs", ("services",), "platform"),
        ("gunicorn", ("web",), "platform"),
        ("flower", ("flower",), "platform"),
        ("celery", ("jobs", "list"), "platform"),
    ],
)
def test_a_command_says_which_extra_has_what_it_lacks(
    module: str, arguments: tuple[str, ...], extras: str
) -> None:
    """Red while it was a traceback."""
    done = without(module, *arguments)
    assert done.returncode == 1
    advice = f"({module}): pip install 'x402-provider[{extras}]'"
    assert done.stderr == f"Error: Needs packages that are not installed {advice}.\n"


def test_the_list_of_commands_is_whole_without_the_extras() -> None:
    """A buyer reads it, too; each command that lacks something says so."""
    done = without("celery", "--help")
    assert done.returncode == 0
    assert "Call the service at URL" in done.stdout
    assert "x402-provider[platform]" in done.stdout


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConfigurationError(["price: is negative", "name: is missing"]), 2),
        (SettingsError(["price: is negative", "name: is missing"]), 2),
        (RpcUnreachable("price: is negative, name: is missing"), 1),
    ],
)
def test_an_error_that_the_user_can_mend_is_told_without_a_traceback(error: Exception, status: int) -> None:
    """All problems at once, on standard error."""

    @click.group(cls=LazyCommands, invoke_without_command=True)
    def failing() -> None:
        raise error

    result = CliRunner().invoke(failing, [])
    assert result.exit_code == status
    assert "price: is negative" in result.stderr
    assert "name: is missing" in result.stderr
    assert "Traceback" not in result.stderr
