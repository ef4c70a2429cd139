"""`provider worker`: the right pool and the right queues for each kind of work (standard C2)."""

import pytest
from click.testing import CliRunner

from provider.cli.main import main
from provider.cli.worker import queues, worker_command, worker_environment
from tests.support.jobs import service

SERVICES = [service("a"), service("b"), service("far", remote=True)]


def option(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1]


def test_handlers_run_in_processes_and_get_their_time_when_stopped() -> None:
    """Nothing else can stop a handler; a platform's SIGTERM must not kill it at once. `far` is remote."""
    arguments = worker_command(("handle",), queues("handle", SERVICES), None)
    assert option(arguments, "--pool") == "prefork"
    assert option(arguments, "--queues") == "handle.a,handle.b"
    assert worker_environment(("handle",)) == {"REMAP_SIGTERM": "SIGQUIT"}


def test_settling_and_maintenance_may_share_threads() -> None:
    """Both wait on the network."""
    kinds = ("settle", "maintenance")
    arguments = worker_command(kinds, [name for kind in kinds for name in queues(kind, SERVICES)], 3)
    assert option(arguments, "--pool") == "threads"
    assert option(arguments, "--concurrency") == "3"
    assert option(arguments, "--queues") == "settle.a,settle.b,settle.far,maintenance"
    assert not worker_environment(("settle", "maintenance"))


def test_handlers_share_a_worker_with_nothing_else() -> None:
    """One worker has one pool."""
    result = CliRunner().invoke(main, ["worker", "handle", "settle"])
    assert result.exit_code == 2
    assert "a worker of its own" in result.output


def test_wrong_settings_are_told_before_celery_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them at once."""
    monkeypatch.delenv("PAY_TO", raising=False)
    monkeypatch.setenv("NETWORK", "stellar:nowhere")
    result = CliRunner().invoke(main, ["worker", "settle"])
    assert result.exit_code == 2
    assert "PAY_TO" in result.stderr
    assert "NETWORK" in result.stderr
