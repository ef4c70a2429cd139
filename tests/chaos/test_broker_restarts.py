"""RabbitMQ is killed and started again while settlements run: settling goes on by itself (C5)."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provider.broker.app import make_app
from provider.broker.dispatcher import CeleryDispatcher
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.services import ChargePolicy, Registry
from tests.support.facilitator import Answer, settled
from tests.support.jobs import Platform, running_platform, service
from tests.support.processes import wait_until
from tests.support.rabbitmq import RabbitServer, running_rabbitmq
from tests.support.redis_server import RedisServer
from tests.support.worker_process import running_worker

AT_ONCE = 16
SETTLE_SECONDS = 1.5
RESUME_SECONDS = 15
STOP_SECONDS = 20
ROUNDS = int(os.environ.get("ROUNDS", "3"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60 + 60 * ROUNDS)]


@pytest.fixture
def broker() -> Iterator[RabbitServer]:
    with running_rabbitmq() as server:
        yield server


@pytest.fixture
def platform(own_redis: RedisServer, broker: RabbitServer) -> Iterator[Platform]:
    """Give a provider whose facilitator takes its time."""
    with running_platform(own_redis.url, broker_url=broker.url) as platform:
        platform.registry = Registry()
        roomy = {"max_queued": 100_000, "max_wait_seconds": 1e9}
        platform.registry.add(service("before", charge=ChargePolicy.UPFRONT, **roomy))
        platform.facilitator.settle = slowly
        yield platform


def slowly(body: dict[str, Any]) -> Answer:
    time.sleep(SETTLE_SECONDS)
    return settled(body)


def publisher(platform: Platform) -> CeleryDispatcher:
    return CeleryDispatcher(make_app(platform.settings, platform.registry))


def all_settled(platform: Platform, wake_ups: CeleryDispatcher, jobs: list[Job]) -> bool:
    """Publish as sweeps do until nothing waits; False when something does for too long."""
    ends = time.monotonic() + RESUME_SECONDS
    while (left := ends - time.monotonic()) > 0:
        for job in waiting(platform, jobs):
            wake_ups.settle(job.id)
        if wait_until(lambda: not waiting(platform, jobs), min(5, left)):
            return True
    return False


def waiting(platform: Platform, jobs: list[Job]) -> list[Job]:
    return [job for job in platform.store.get_many([job.id for job in jobs]) if job.status is Status.PENDING]


def test_settling_goes_on_after_the_broker_crashed(
    platform: Platform, broker: RabbitServer, tmp_path: Path
) -> None:
    """Within 15 s of its return, and the worker stops at SIGTERM; it hung for minutes in one of these rounds.

    A thread of the pool restored the prefetch, or sent the events of tasks, over a connection that the main
    thread reads: each waited for an answer that the other one had read.
    """
    wake_ups = publisher(platform)
    with running_worker(platform, "settle", tmp_path / "settle.log", concurrency=AT_ONCE) as process:
        for number in range(ROUNDS):
            jobs = [platform.buy("before") for _ in range(2 * AT_ONCE)]
            enough = platform.facilitator.calls("/settle") + AT_ONCE
            for job in jobs:
                wake_ups.settle(job.id)
            assert wait_until(lambda most=enough: platform.facilitator.calls("/settle") >= most, 60)
            broker.kill()
            broker.start()
            jobs += [platform.buy("before") for _ in range(3 * AT_ONCE)]
            assert all_settled(platform, wake_ups, jobs), number
        process.terminate()
        assert process.wait(STOP_SECONDS) == 0
