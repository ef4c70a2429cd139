"""The processes of a Procfile run: those of this repository, and those of a project from `provider init`."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from honcho.environ import parse_procfile
from stellar_sdk import Keypair

from provider.localnet.stack.ports import Ports
from provider.localnet.stack.ready import online_workers
from provider.scaffold import write_project
from tests.support.processes import wait_until
from tests.support.redis_server import RedisServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
WORKERS = {"handle", "settle", "maintenance"}
SWEEPS = re.compile(r'^flower_events_total\{[^}]*sweep",type="task-received"[^}]*\} (\d+)', re.M)
FOREIGN = ("config", "tasks", "utils", "examples")
"""Names that a project's own modules often have."""


def repository(home: Path) -> Path:
    """Deploy this checkout, which sells its examples."""
    return ROOT


def project(home: Path) -> Path:
    """Deploy a new project, with modules in it that nothing of ours may import."""
    write_project(home / "shop")
    for name in FOREIGN:
        (home / "shop" / f"{name}.py").write_text("raise SystemExit('imported by mistake')\n")
    return home / "shop"


def environment(redis_url: str) -> dict[str, str]:
    """Give what every process reads; Redis carries the messages, too."""
    inherited = {name: text for name, text in os.environ.items() if name != "PROVIDER_SERVICES"}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    own = {"PAY_TO": Keypair.random().public_key, "REDIS_URL": redis_url, "SWEEP_SECONDS": "0.5"}
    return {**inherited, **own, "PATH": path, "FLOWER_BASIC_AUTH": "user:password"}


@contextmanager
def running(directory: Path, logs: Path, ports: dict[str, int], given: dict[str, str]) -> Iterator[None]:
    """Start every process as a platform would, and end them with SIGTERM."""
    started = []
    for kind, command in parse_procfile((directory / "Procfile").read_text()).processes.items():
        port = {"PORT": str(ports[kind])} if kind in ports else {}
        with (logs / f"{kind}.log").open("w") as log:
            started.append(
                subprocess.Popen(
                    ["sh", "-c", command], cwd=directory, env={**given, **port}, stdout=log, stderr=log
                )
            )
    try:
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


@pytest.mark.parametrize("deployment", [repository, project])
def test_every_process_of_a_procfile_runs(
    deployment: Callable[[Path], Path], tmp_path: Path, own_redis: RedisServer
) -> None:
    """Web answers, Flower sees the workers, and beat has them sweep again and again."""
    free = Ports.free()
    ports = {"web": free.web, "flower": free.flower}
    web, flower = (f"http://127.0.0.1:{ports[kind]}" for kind in ("web", "flower"))
    with running(deployment(tmp_path), tmp_path, ports, environment(own_redis.url)):
        assert wait_until(lambda: body(f"{web}/readyz"), 60), logs_of(tmp_path)
        assert wait_until(lambda: online_workers(body(f"{flower}/metrics")) >= WORKERS, 60), logs_of(tmp_path)
        assert wait_until(lambda: sweeps(body(f"{flower}/metrics")) > 3, 60), logs_of(tmp_path)


def body(url: str) -> str:
    """Fetch a text; nothing while it is not there."""
    try:
        answer = requests.get(url, timeout=2)
    except requests.RequestException:
        return ""
    return answer.text if answer.ok else ""


def sweeps(metrics: str) -> int:
    """Count the sweeps that workers have received; one is sent at their start, the others by beat."""
    return sum(map(int, SWEEPS.findall(metrics)))


def logs_of(home: Path) -> str:
    return "\n".join(f"{path.name}\n{path.read_text()[-2000:]}" for path in home.glob("*.log"))
