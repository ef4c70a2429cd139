"""A move is made, Redis' reply to it is lost, and the wake-up after it is sent all the same (C5)."""

from collections.abc import Iterator

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from tests.support.jobs import Platform, running_platform
from tests.support.redis_server import RedisServer
from tests.support.relay import Relay, start_relay


@pytest.fixture
def relay(own_redis: RedisServer) -> Relay:
    return start_relay(str(own_redis.socket))


@pytest.fixture
def platform(relay: Relay) -> Iterator[Platform]:
    with running_platform(relay.url) as parts:
        parts.finish(parts.buy())  # A script that Redis does not know would have to be sent again.
        parts.wakeups.handled.clear()
        parts.wakeups.settled.clear()
        yield parts


def lose_a_move(platform: Platform, relay: Relay) -> None:
    relay.loses_the_answer_to = str(platform.store.scripts._scripts["move"].sha).encode()


def test_an_output_is_settled(platform: Platform, relay: Relay) -> None:
    """It waited for the sweep, since the worker took the move for another one's."""
    job = platform.buy("after")
    lose_a_move(platform, relay)
    platform.runner.run_next("after")
    assert platform.job(job).output is not None
    assert platform.wakeups.settled == [job.id]


def test_a_paid_job_has_its_lane_woken(platform: Platform, relay: Relay) -> None:
    """An upfront job is queued by the record of its payment; it waited for the sweep as well."""
    job: Job = platform.buy("before")
    lose_a_move(platform, relay)
    platform.settler.settle(job.id)
    assert platform.job(job).status is Status.QUEUED
    assert platform.wakeups.handled == [job.id]
