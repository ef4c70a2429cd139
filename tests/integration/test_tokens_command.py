"""`provider tokens`: who may run the jobs of remote services (§11)."""

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from provider.cli.main import main
from provider.errors import InvalidToken
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.tokens import Tokens

SERVICES = "tests.integration.web.far"
Run = Callable[..., Result]
PAY_TO = "GAIH3ULLFQ4DGSECF2AR555KZ4KNDGEKN4AFI4SU2M7B43MGK3QJZNSR"


@pytest.fixture
def run(redis_url: str) -> Run:
    """Run `provider tokens` with some arguments."""
    environment = {"REDIS_URL": redis_url, "PAY_TO": PAY_TO, "PROVIDER_SERVICES": SERVICES}

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["tokens", *arguments], env=environment)

    return run


@pytest.fixture
def tokens(redis_url: str) -> Tokens:
    return Tokens(JobStore(connect(redis_url)))


def test_a_token_is_created_listed_and_revoked(run: Run, tokens: Tokens) -> None:
    """Issue: printed once, and worth nothing from the moment it is revoked."""
    token = run("create", "--worker", "gpu-1", "--services", "far-paid,far").output.strip()
    assert tokens.check(token).services == ("far", "far-paid")
    listed = run("list").output
    assert "gpu-1" in listed
    assert "far,far-paid" in listed
    assert token.partition(".")[2] not in listed
    assert run("revoke", "gpu-1").exit_code == 0
    with pytest.raises(InvalidToken):
        tokens.check(token)
    assert run("revoke", "gpu-1").exit_code == 1


def test_programs_read_json(run: Run, tokens: Tokens) -> None:
    """§14: `--json` everywhere."""
    made = json.loads(run("create", "--worker", "a", "--services", "far", "--json").output)
    assert (made["worker"], made["services"]) == ("a", ["far"])
    assert tokens.check(made["token"]).name == "a"
    (listed,) = json.loads(run("list", "--json").output)
    assert (listed["worker"], listed["services"]) == ("a", ["far"])
    assert json.loads(run("revoke", "a", "--json").output) == {"worker": "a", "revoked": True}


@pytest.mark.parametrize(
    ("worker", "services", "told"),
    [
        ("gpu-1", "near", "no remote services: near"),
        ("gpu-1", "fra", "those for sale are: far, far-paid"),
        ("gpu-1", ",", "at least one service"),
        ("GPU.1", "far", "a worker's name"),
    ],
)
def test_a_token_that_would_be_of_no_use_is_not_made(run: Run, worker: str, services: str, told: str) -> None:
    """A misspelt service is a worker that never gets a job."""
    done = run("create", "--worker", worker, "--services", services)
    assert done.exit_code == 2
    assert told in done.output


def test_a_worker_has_one_token(run: Run) -> None:
    """Else nobody knows which one is in use."""
    run("create", "--worker", "a", "--services", "far")
    done = run("create", "--worker", "a", "--services", "far")
    assert done.exit_code == 1
    assert "revoke it first" in done.output
