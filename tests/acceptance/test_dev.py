"""`provider dev`: the real platform, all nine processes."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import requests
from stellar_sdk import Keypair

from provider.localnet.stack.ports import Ports, is_free
from tests.support.processes import marked, wait_until

pytestmark = pytest.mark.timeout(240)

SELLING = {"PROVIDER_SERVICES": "examples.services"}
TYPES = {"redis", "chain", "facilitator", "web", "handle", "settle", "maintenance", "beat", "flower"}


class Dev:
    """A platform that a test started; everything it starts carries a mark."""

    def __init__(self, home: Path, *options: str) -> None:
        self.mark = f"DEV_MARK={uuid.uuid4().hex}"
        self.description_file = home / "dev.json"
        name, _, value = self.mark.partition("=")
        self.output = home.with_suffix(".log")
        command = [sys.executable, "-m", "provider.cli.main", "dev", "--data-dir", str(home), *options]
        environment = {**os.environ, **SELLING, name: value}
        with self.output.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env=environment, start_new_session=True
            )

    def ready(self) -> dict[str, Any]:
        """Wait for the description and return it."""
        found = wait_until(lambda: self.description_file.exists() or self.process.poll() is not None, 100)
        assert found, self.tail()
        assert self.process.poll() is None, self.tail()
        description: dict[str, Any] = json.loads(self.description_file.read_text())
        return description

    def end(self, number: signal.Signals, seconds: float = 15) -> int:
        """Signal the platform and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def left(self) -> set[int]:
        return marked(self.mark)

    def tail(self) -> str:
        return "\n".join(self.output.read_text().splitlines()[-30:])

    def clear(self) -> None:
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Dev]:
    """Start a platform on free ports, with quick ledgers."""
    platform = Dev(tmp_path / "data", "--port-base", "0", "--ledger-seconds", "1")
    yield platform
    platform.clear()


def test_the_platform_comes_up_tells_everything_and_ends_with_one_signal(dev: Dev) -> None:
    """One test for the whole way, since each start takes ten seconds."""
    told = dev.ready()
    _is_complete(told, dev.description_file)
    _answers_everywhere(told)
    _serves_operators(dev.description_file.with_suffix(".env"))
    assert dev.end(signal.SIGINT) == 0, dev.tail()
    assert not dev.left()
    assert not list(dev.description_file.parent.glob("dev.*"))
    assert all(is_free(port) for port in told["ports"].values())


def _is_complete(told: dict[str, Any], file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert told["pids"].keys() == TYPES
    assert all(Path(f"/proc/{pid}").exists() for pid in told["pids"].values())
    assert Keypair.from_secret(told["buyer_secret"]).public_key == told["buyer"]
    assert told["network"] == "stellar:testnet"
    assert told["asset"].startswith("C")
    assert told["payTo"].startswith("G")


def _serves_operators(variables: Path) -> None:
    """A shell that reads the file runs their commands."""
    assert stat.S_IMODE(variables.stat().st_mode) == 0o600
    script = f'. "{variables}"; exec "{sys.executable}" -m provider.cli.main stats --json'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "qr-code" in {service["name"] for service in json.loads(done.stdout)["services"]}


def _answers_everywhere(told: dict[str, Any]) -> None:
    health = {"jsonrpc": "2.0", "id": 1, "method": "getHealth"}
    assert requests.post(told["rpc_url"], json=health, timeout=5).json()["result"]["status"] == "healthy"
    tls = requests.post(told["rpc_tls_url"], json=health, timeout=5, verify=told["ca_file"])
    assert tls.json()["result"]["status"] == "healthy"
    assert requests.get(told["web_url"] + "/readyz", timeout=5).ok
    assert requests.get(told["facilitator_url"] + "/supported", timeout=5).ok
    assert requests.get(told["flower_url"] + "/workers", timeout=5).status_code == 401
    login = (told["flower_user"], told["flower_password"])
    assert requests.get(told["flower_url"] + "/workers", auth=login, timeout=5).ok
    _is_durable(told["redis_url"])


def _is_durable(url: str) -> None:
    """Standard C4."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        assert client.config_get("appendonly", "appendfsync", "maxmemory-policy") == {
            "appendonly": "yes",
            "appendfsync": "always",
            "maxmemory-policy": "noeviction",
        }


def test_a_platform_that_is_stopped_on_its_way_up_failed_in_nothing(dev: Dev) -> None:
    """Whoever presses Ctrl-C is not told that something did not answer."""
    assert wait_until(lambda: "web started" in dev.tail(), 60), dev.tail()
    assert dev.end(signal.SIGINT) == 0, dev.tail()
    assert "No answer" not in dev.tail()
    assert not dev.left()


def test_a_process_that_dies_is_named_and_nothing_is_left(dev: Dev) -> None:
    """The exit status tells a script that something went wrong."""
    os.kill(dev.ready()["pids"]["settle"], signal.SIGKILL)
    assert dev.process.wait(20) == 1
    assert "Ended because of: settle (exit status -9)" in dev.tail()
    assert not dev.left()


def test_a_platform_that_is_killed_leaves_no_process(dev: Dev) -> None:
    """SIGKILL gives it no chance to tidy up."""
    dev.ready()
    dev.process.kill()
    assert wait_until(lambda: not dev.left(), 15), dev.left()


def test_a_taken_port_is_named_before_anything_starts(tmp_path: Path) -> None:
    """The whole list of taken ports comes at once."""
    base = Ports.free().web
    with socket.create_server(("127.0.0.1", base + 100)):
        platform = Dev(tmp_path / "data", "--port-base", str(base))
        assert platform.process.wait(30) == 2
    assert f"port {base + 100} (for chain) is taken" in platform.tail()
    assert "started" not in platform.tail()


def test_wrong_services_are_told_once_before_anything_starts(tmp_path: Path) -> None:
    """Nine processes would report the same mistake."""
    platform = Dev(tmp_path / "data", "--port-base", "0", "--services", "no.such.module")
    assert platform.process.wait(30) == 2
    assert "no.such.module" in platform.tail()
    assert "started" not in platform.tail()


def test_two_platforms_never_share_a_data_directory(dev: Dev) -> None:
    """Two Redis servers on one append-only file would lose claims."""
    dev.ready()
    second = subprocess.run(
        [sys.executable, "-m", "provider.cli.main", "dev", "--port-base", "0"]
        + ["--data-dir", str(dev.description_file.parent)],
        env={**os.environ, **SELLING},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert second.returncode == 2
    assert "another platform runs with the data directory" in second.stderr
    assert dev.process.poll() is None
