"""`provider worker`: the right pool and the right queues for each kind of work (standard C2)."""

import click
import pytest
from click.testing import CliRunner

from provider.cli.main import main
from provider.cli.worker import node_name, queues, served, worker_command, worker_environment
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


@pytest.mark.parametrize(
    ("only", "without", "expected"),
    [
        ((), (), ["a", "b", "far"]),
        (("b",), (), ["b"]),
        (("b", "a"), (), ["a", "b"]),
        ((), ("a",), ["b", "far"]),
    ],
)
def test_a_worker_serves_the_services_of_its_machine(
    only: tuple[str, ...], without: tuple[str, ...], expected: list[str]
) -> None:
    """A machine with a GPU takes the one service that needs it."""
    assert [service.name for service in served(SERVICES, only, without)] == expected


@pytest.mark.parametrize(
    ("only", "without", "error"),
    [
        (("a",), ("b",), "not both"),
        (("c",), (), "no service is called c; there are a, b, far"),
        ((), ("a", "b", "far"), "leaves no service"),
    ],
)
def test_a_worker_of_no_service_does_not_start(
    only: tuple[str, ...], without: tuple[str, ...], error: str
) -> None:
    """A name with a typing error would otherwise leave a lane without a worker."""
    with pytest.raises(click.UsageError, match=error):
        served(SERVICES, only, without)


def test_workers_of_one_machine_have_names_of_their_own() -> None:
    """Flower shows one worker a name."""
    assert node_name(["handle"], ("gpu",)).startswith("handle+gpu@")
    assert node_name(["handle"], (), ("gpu",)).startswith("handle-gpu@")
    assert node_name(["settle", "maintenance"]).startswith("settle-maintenance@")


def test_maintenance_is_for_all_services() -> None:
    """A sweep of one service would look like a sweep."""
    result = CliRunner().invoke(main, ["worker", "maintenance", "--service", "a"])
    assert result.exit_code == 2
    assert "is for all services" in result.stderr
