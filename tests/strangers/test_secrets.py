"""Secrets of the platform stay with the platform (issue 9.16)."""

import os
import subprocess
import sys
from dataclasses import fields
from typing import Any

import pytest
from click.testing import CliRunner
from stellar_sdk import Keypair

from provider.cli.main import main
from provider.environment import SECRET_VARIABLES
from provider.jobs.model.status import Status
from provider.services import Registry
from provider.settings import Settings
from tests.support.jobs import Platform, service
from tests.support.localnet import running_localnet


def tell_environment(value: dict[str, Any], context: Any) -> dict[str, Any]:
    """Return the secrets that a handler finds in its environment, and those that its children would."""
    child = subprocess.check_output(
        [sys.executable, "-c", "import os; print(*os.environ)"], text=True
    ).split()
    return {
        "own": sorted(SECRET_VARIABLES & os.environ.keys()),
        "child": sorted(SECRET_VARIABLES & set(child)),
    }


def test_a_handler_inherits_no_secret(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Red before: FACILITATOR_API_KEY and the store's URL stood in os.environ."""
    for name in SECRET_VARIABLES:
        monkeypatch.setenv(name, "hunter2")
    platform.registry = Registry()
    platform.registry.add(service("after", handler=tell_environment))
    done = platform.finish(platform.buy())
    assert (done.status, done.output) == (Status.SUCCEEDED, '{"own":[],"child":[]}')


def test_every_setting_that_may_be_a_secret_is_one() -> None:
    """URLs that hold passwords, keys and tokens."""
    named = {field.name.upper() for field in fields(Settings)}
    secret = {name for name in named if name.endswith(("_KEY", "_TOKEN", "_URL", "_URLS", "_SECRET"))}
    assert secret - SECRET_VARIABLES == {"PUBLIC_URL", "EXPLORER_URL"}


def test_a_token_is_no_argument() -> None:
    """Red before: other users of a machine read it in the list of processes."""
    for command in ("remote-worker", "facilitator", "pay"):
        told = CliRunner().invoke(main, [command, "--help"]).output
        assert [
            line for line in told.splitlines() if line.strip().startswith(("--token ", "--secret "))
        ] == []


@pytest.mark.parametrize("options", [[], ["--open"], ["--payee", "G"], ["--open", "--payee", "G"]])
def test_a_facilitator_without_a_key_serves_this_machine_alone(
    options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Red before: it listened anywhere, and paid the fees of anybody's payments."""
    monkeypatch.delenv("FACILITATOR_API_KEY", raising=False)
    monkeypatch.setenv("FACILITATOR_SECRET", Keypair.random().secret)
    done = CliRunner().invoke(
        main, ["facilitator", "--rpc", "http://127.0.0.1:9", "--host", "0.0.0.0", *options]
    )
    assert (done.exit_code, "FACILITATOR_API_KEY" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("key", "options"), [("secret", []), ("", ["--open", "--payee", "G", "--asset", "C"])]
)
def test_a_facilitator_serves_others_when_it_is_told(
    key: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard against strangers is not in the way of its owner."""
    monkeypatch.setenv("FACILITATOR_API_KEY", key)
    monkeypatch.setenv("FACILITATOR_SECRET", Keypair.random().secret)
    given = ["--rpc", "http://127.0.0.1:9", "--host", "0.0.0.0", "--print-accounts"]
    assert CliRunner().invoke(main, ["facilitator", *given, *options]).exit_code == 0


@pytest.mark.parametrize("limit", ["payees", "assets"])
def test_a_facilitator_serves_those_it_was_told(limit: str) -> None:
    """Red before: fees could be spent for others."""
    with running_localnet() as net:
        assert net.verify(net.payment())["isValid"]
        net.facilitator.stop()
        net.start_facilitator(**{limit: (Keypair.random().public_key,)})
        refused = net.verify(net.payment())
        assert (refused["isValid"], refused["invalidReason"]) == (False, "invalid_payment_requirements")
        assert not net.settle(net.payment())["success"]
        assert net.received == 0
        net.facilitator.stop()
        net.start_facilitator(payees=(net.seller.public_key,), assets=(net.state.config.token.contract,))
        assert net.settle(net.payment())["success"]
