"""Progress is written at most once a second, and its last value always (R4)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.run.supervisor import Supervisor
from provider.jobs.store import keys
from provider.services.progress import Progress
from tests.support.handlers import misbehave
from tests.support.jobs import Platform, running_platform, service
from tests.support.processes import wait_until


@pytest.fixture
def platform(redis_url: str) -> Iterator[Platform]:
    """Sell what tells a lot; leases are renewed often, which writes no progress."""
    with running_platform(redis_url, lease_seconds=0.9) as parts:
        parts.registry.add(service("odd", handler=misbehave, charge="upfront"))
        parts.registry.add(service("watched", handler=misbehave, charge="upfront", stall_seconds=2))
        yield parts


def bought(platform: Platform, name: str = "odd", **value: Any) -> Job:
    job = platform.buy(name, value)
    platform.settler.settle(job.id)
    return job


@contextmanager
def running(platform: Platform, name: str = "odd") -> Iterator[None]:
    """Run the next job in the background."""
    thread = threading.Thread(target=platform.runner.run_next, args=(name,))
    thread.start()
    yield
    thread.join(20)


def written(platform: Platform, job: Job) -> list[float]:
    """Watch a job until it is final: when its progress was written."""
    heard = platform.store.client.pubsub(ignore_subscribe_messages=True)
    heard.subscribe(keys.job(job.id))
    times = []
    with running(platform):
        while not platform.job(job).is_final:
            message = heard.get_message(timeout=0.1)
            if message and message["data"] == "progress":
                times.append(time.monotonic())
    return times


def test_a_handler_that_tells_all_the_time_is_heard_once_a_second(platform: Platform) -> None:
    """R4: whatever it does; and its last value is there at the end."""
    job = bought(platform, do="tell_often", seconds=2.5)
    times = written(platform, job)
    done = platform.job(job)
    assert 2 <= len(times) <= 4
    assert all(later - sooner > 0.5 for sooner, later in pairwise(times))
    assert f'{{"told":{done.progress["done"]}}}' == done.output


def test_the_worker_hears_no_more_than_it_writes(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """R4: 100 000 calls a second neither flood the pipe nor slow the handler down."""
    heard, take = list[Any](), Supervisor._take
    monkeypatch.setattr(Supervisor, "_take", lambda self, *given: (heard.append(given), take(self, *given)))
    job = bought(platform, do="tell_often", seconds=1.2)
    platform.runner.run_next("odd")
    assert platform.job(job).progress["done"] > 1000
    assert len([message for message, _ in heard if isinstance(message, Progress)]) <= 3


def test_the_last_value_is_written_while_the_handler_works_on(platform: Platform) -> None:
    """R4: it is not held back until the handler tells another one."""
    job = bought(platform, do="tell_in_turn", told=[[0, 1], [0, 2], [0.1, 3]], then=4)
    began = time.monotonic()
    with running(platform):
        assert wait_until(lambda: platform.job(job).progress == {"done": 3, "total": 100}, 3)
        assert time.monotonic() - began < 2.5
        assert platform.job(job).status is Status.RUNNING


def test_the_last_value_is_there_when_the_handler_ends_right_after_it(platform: Platform) -> None:
    """R4: in the same step as the output."""
    job = bought(platform, do="tell_in_turn", told=[[0, 1], [0.05, 99], [0, 100]])
    platform.runner.run_next("odd")
    assert platform.job(job).progress == {"done": 100, "total": 100}


def test_a_handler_that_tells_in_time_does_not_stall(platform: Platform) -> None:
    """R4: 3 s of work under `stall_seconds` of 2; telling is a sign of life, also when little changes."""
    job = bought(platform, "watched", do="tell_in_turn", told=[[0, 1], [0.9, 1], [0.9, 1], [0.9, 2]])
    platform.runner.run_next("watched")
    assert platform.job(job).status is Status.SUCCEEDED


def test_a_handler_that_tells_nothing_for_too_long_has_lost_its_job(platform: Platform) -> None:
    """R4: it counts as a lost worker: queued again, and the start is used up."""
    job = bought(platform, "watched", do="tell_in_turn", told=[[0, 1]], then=20)
    began = time.monotonic()
    platform.runner.run_next("watched")
    waiting = platform.job(job)
    assert time.monotonic() - began < 2 + 3
    assert (waiting.status, waiting.interruptions, waiting.progress["done"]) == (Status.QUEUED, 1, 1)
