"""Redis is killed or frozen under real processes: nothing is decided, and nobody needs a restart (C5)."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pytest
import requests

from provider.jobs.model.status import Status
from provider.settings import Settings
from tests.chaos.parts import LEDGER_SECONDS
from tests.chaos.stage import Stage, all_up
from tests.support.invariants import check_invariants
from tests.support.localnet import running_localnet
from tests.support.payments import payment_header
from tests.support.processes import wait_until
from tests.support.redis_server import RedisServer, running_redis

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

RESUME_SECONDS = 10
ANSWER_SECONDS = 2


@dataclass
class Patient(Stage):
    """A stage whose leases are longer than its outages, as they are outside of tests.

    With the one second of the others a worker gave its job up before Redis was back (R1), and only a sweep
    helps then.
    """

    @cached_property
    def settings(self) -> Settings:
        return replace(super().settings, lease_seconds=10.0)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """Run the Redis that the tests take away."""
    with running_redis() as server:
        yield server


@pytest.fixture(scope="module")
def stage(server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Run web, handle and settle processes over it."""
    with running_localnet(ledger_seconds=LEDGER_SECONDS) as net:
        net.state.close(2000)
        stage = Patient(server.url, net, tmp_path_factory.mktemp("outage"))
        with all_up(stage):
            yield stage


@contextmanager
def killed(server: RedisServer) -> Iterator[None]:
    """End it, and start it again on its file."""
    server.kill()
    yield
    server.start()


@contextmanager
def frozen(server: RedisServer) -> Iterator[None]:
    """Stop it in the middle of whatever it does: connections stay open, and nobody answers."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGSTOP)
    yield
    os.kill(server.process.pid, signal.SIGCONT)


Outage = Callable[[RedisServer], Any]
OUTAGES = pytest.mark.parametrize("outage", [killed, frozen])


def calls(stage: Stage, header: str) -> Iterator[requests.Response]:
    """Make each kind of call that needs Redis."""
    url = stage.settings.public_url
    yield requests.post(f"{url}/run/after", json={}, headers={"PAYMENT-SIGNATURE": header}, timeout=10)
    yield requests.post(f"{url}/run/after", json={}, timeout=10)
    yield requests.get(f"{url}/jobs/after.{0:032x}", timeout=10)
    yield requests.get(f"{url}/readyz", timeout=10)


@OUTAGES
def test_callers_hear_quickly_that_redis_is_away(stage: Stage, server: RedisServer, outage: Outage) -> None:
    """503 as problem+json with a time to come back, within 2 s; alive all the same, and served afterwards."""
    payment = stage.pay("after")
    with outage(server):
        for answer in calls(stage, payment_header(payment)):
            told = (answer.status_code, answer.headers["Content-Type"], answer.json()["code"])
            assert told == (503, "application/problem+json", "store_unavailable"), answer.url
            assert int(answer.headers["Retry-After"]) > 0
            assert answer.elapsed.total_seconds() < ANSWER_SECONDS, answer.url
        assert requests.get(f"{stage.settings.public_url}/healthz", timeout=1).ok
    job = stage.recover(stage.buy("after", {}, payment))
    assert job.status is Status.SUCCEEDED
    check_invariants(stage.evidence())


@OUTAGES
@pytest.mark.parametrize("service", ["after", "before"])
def test_workers_resume_by_themselves(
    stage: Stage, server: RedisServer, outage: Outage, service: str
) -> None:
    """The job that was at work is done, and the next one is taken, within 10 s; no process was restarted."""
    pids = {kind: process.pid for kind, process in stage.processes.items()}
    job_id = stage.buy(service, {"seconds": 1.0})
    assert wait_until(lambda: stage.store.get(job_id).status is Status.RUNNING)
    with outage(server):
        time.sleep(2.0)  # The handler ends while nobody can be told.
    back = time.monotonic()
    assert wait_until(lambda: stage.store.get(job_id).is_final, RESUME_SECONDS), stage.store.get(job_id)
    next_id = stage.buy(service, {"seconds": 0})
    assert wait_until(lambda: stage.store.get(next_id).is_final, RESUME_SECONDS - (time.monotonic() - back))
    assert [stage.store.get(one).status for one in (job_id, next_id)] == [Status.SUCCEEDED] * 2
    assert {kind: process.pid for kind, process in stage.processes.items() if process.poll() is None} == pids
    check_invariants(stage.evidence())


@OUTAGES
def test_nothing_is_decided_while_redis_is_away(stage: Stage, server: RedisServer, outage: Outage) -> None:
    """No payment is sent for output that cannot be recorded; the records are the same afterwards."""
    job_id = stage.buy("after", {"seconds": 1.0})
    assert wait_until(lambda: stage.store.get(job_id).status is Status.RUNNING)
    before = len(stage.net.sent)
    with outage(server):
        time.sleep(3.0)
        assert len(stage.net.sent) == before
    assert wait_until(lambda: stage.store.get(job_id).is_final, RESUME_SECONDS)
    assert stage.store.get(job_id).status is Status.SUCCEEDED
    check_invariants(stage.evidence())
