"""The example of a remote worker in Node, against a web process as it is deployed (standard §11)."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from examples.remote import services
from provider.jobs.model.status import Status
from provider.jobs.store.tokens import Tokens
from provider.services import Registry
from tests.integration.web.conftest import PAY_TO, Shop
from tests.interop.node import node_or_skip
from tests.support.facilitator import FakeFacilitator
from tests.support.gunicorn import running_gunicorn
from tests.support.processes import wait_until

WORKER = Path(__file__).parents[3] / "examples" / "remote-worker.mjs"
MOST_LINES = 60


@pytest.fixture
def registry() -> Registry:
    """Sell what the example does."""
    return services


@pytest.fixture
def web(redis_url: str, facilitator: FakeFacilitator) -> Iterator[str]:
    """Run the web process, and give its URL."""
    environment = {
        "PROVIDER_SERVICES": "examples.remote",
        "PAY_TO": PAY_TO,
        "REDIS_URL": redis_url,
        "BROKER_URL": "memory://",
        "FACILITATOR_URL": facilitator.url,
        "LEASE_SECONDS": "3",
    }
    with running_gunicorn(environment) as url:
        yield url


@pytest.fixture
def work(shop: Shop, web: str) -> Iterator[Callable[[], "subprocess.Popen[bytes]"]]:
    """Start the worker, as often as the test wants."""
    node_or_skip()
    token = Tokens(shop.store).create("node", ("primes",))
    environment = {**os.environ, "PROVIDER_URL": web, "PROVIDER_WORKER_TOKEN": token}
    started: list[subprocess.Popen[bytes]] = []

    def start() -> "subprocess.Popen[bytes]":
        started.append(subprocess.Popen(["node", str(WORKER)], env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def buy(shop: Shop, below: int) -> str:
    job_id: str = shop.call("primes", json={"below": below}).json["id"]
    return job_id


def test_the_node_worker_does_jobs_and_hands_back_what_it_cannot_finish(
    shop: Shop, work: Callable[[], "subprocess.Popen[bytes]"]
) -> None:
    """Issue: one that waits, one that is announced, one that goes on at its cursor with the same result."""
    jobs = [buy(shop, 100)]
    worker = work()
    assert wait_until(lambda: shop.store.get(jobs[0]).output, 30)
    jobs += [buy(shop, 100_000), buy(shop, 6_000_000)]
    assert wait_until(lambda: shop.store.work(jobs[2])[1].get("all", {}).get("at", 0) > 100_000, 30)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(10) == 0
    job = shop.store.get(jobs[2])
    assert (job.status, job.starts) == (Status.QUEUED, 0)
    assert shop.store.get(jobs[0]).output == '{"count":25,"largest":97}'
    assert shop.store.get(jobs[1]).output == '{"count":9592,"largest":99991}'
    work()
    assert wait_until(lambda: shop.store.get(jobs[2]).output, 60)
    assert shop.store.get(jobs[2]).output == '{"count":412849,"largest":5999993}'


def test_the_example_is_short() -> None:
    """Issue: 60 lines."""
    assert len(WORKER.read_text().splitlines()) <= MOST_LINES


def test_the_service_of_the_example_is_declared_without_a_problem() -> None:
    """As every process checks it."""
    assert services.problems() == []
