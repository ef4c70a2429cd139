"""The parts of `provider dev` that need no process."""

import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from honcho.environ import parse_procfile

from provider.localnet.files import write_private
from provider.localnet.stack.plan import BACK, Plan
from provider.localnet.stack.ports import Ports, is_free
from provider.localnet.stack.ready import online_workers
from provider.settings import Settings

PLAN = Plan(ports=Ports.from_base(8000), data_dir=Path("/tmp/nowhere"))


def test_every_variable_of_the_procfile_is_set() -> None:
    """The shell would put nothing in the place of a missing one."""
    used = set(re.findall(r"\$(\w+)", " ".join(PLAN.commands().values())))
    assert used <= PLAN.environment().keys()


def test_whoever_is_stopped_last_exists() -> None:
    """Names in the manager and in the Procfile are the same."""
    assert set(BACK) <= PLAN.commands().keys()


def test_every_process_is_started_by_exec() -> None:
    """Else the pid in dev.json, and the signal, would be the shell's."""
    assert all(command.startswith("exec ") for command in PLAN.commands().values())


def test_the_environment_is_a_valid_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the ports and accounts of the plan."""
    for name, value in PLAN.environment().items():
        monkeypatch.setenv(name, value)
    settings = Settings.from_env()
    assert settings.public_url == "http://127.0.0.1:8000"
    assert settings.pay_to == PLAN.payee.public_key
    assert settings.broker_url == settings.redis_url


def test_no_secret_is_on_a_command_line() -> None:
    """Every user of the machine can read those."""
    environment = PLAN.environment()
    line = " ".join([*PLAN.commands().values(), environment["CHAIN_FUNDS"]])
    assert not any(s in line for s in (PLAN.facilitator.secret, PLAN.buyer.secret, PLAN.flower_password))


def test_a_base_moves_all_ports() -> None:
    """Their distances stay."""
    assert Ports.from_base(8000) == Ports(
        web=8000, chain=8100, chain_tls=8143, facilitator=8200, redis=8379, flower=8555
    )


def test_free_ports_are_free_and_differ() -> None:
    """They were all held at once."""
    ports = Ports.free()
    numbers = [ports.web, ports.chain, ports.chain_tls, ports.facilitator, ports.redis, ports.flower]
    assert len(set(numbers)) == len(numbers)
    assert all(is_free(number) for number in numbers)


def test_the_description_is_private(tmp_path: Path) -> None:
    """It holds the secret of an account, if only of play money."""
    file = tmp_path / "dev.json"
    for content in ("{}", json.dumps(PLAN.describe({"web": 1}))):
        write_private(file, content.encode())
        assert file.read_text() == content
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("value", ["", "user", "user:", ":password", "user:password,other"])
def test_flower_does_not_start_without_a_password(value: str) -> None:
    """Standard §14; every pair must be whole."""
    run = _flower_config(value)
    assert run.returncode == 1
    assert "FLOWER_BASIC_AUTH" in run.stderr


def test_flower_starts_with_passwords() -> None:
    """Several users are allowed."""
    assert _flower_config("user:password,other:more").returncode == 0


def _flower_config(value: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "FLOWER_BASIC_AUTH": value}
    read = "import flower.options, sys, tornado.options; tornado.options.parse_config_file(sys.argv[1])"
    command = [sys.executable, "-c", read, str(files("provider.workers") / "flower.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)


def test_a_plan_makes_new_accounts_each_time() -> None:
    """Their secrets are worth nothing elsewhere, not even in the next run."""
    again = Plan(ports=PLAN.ports, data_dir=PLAN.data_dir)
    assert again.buyer.secret != PLAN.buyer.secret
    assert replace(PLAN, services="a.b").services == "a.b"


def test_a_deployment_runs_the_same_processes() -> None:
    """Redis, the chain and the facilitator are somebody else's there."""
    deployed = parse_procfile((Path(__file__).parents[3] / "Procfile").read_text()).processes
    assert deployed.keys() == PLAN.commands().keys() - set(BACK)
    assert all(command.startswith("exec ") for command in deployed.values())


def test_only_workers_that_are_online_count_as_ready() -> None:
    """Flower waits for messages too, and remembers workers that have gone."""
    metrics = "\n".join(
        [
            "# TYPE flower_worker_online gauge",
            'flower_worker_online{worker="handle@a-b.example"} 1.0',
            'flower_worker_online{worker="settle@a"} 0.0',
            'flower_events_total{task="x",type="task-received",worker="maintenance@a"} 1.0',
        ]
    )
    assert online_workers(metrics) == {"handle"}
