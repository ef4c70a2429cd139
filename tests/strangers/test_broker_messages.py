"""Messages of others in the broker, and a broker that refuses (issue 9.14).

Red before: one `{}` ended a worker; a `timelimit` header had a paid job started ten times, no attempt
counted; a shared broker that was full, or was made a replica, ended workers with exit code 1.
"""

import base64
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from provider.broker.app import make_app
from provider.broker.dispatcher import CeleryDispatcher
from provider.broker.queues import HANDLE_JOB, SETTLE_JOB
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.services import ChargePolicy, Registry
from tests.support.jobs import Platform, running_platform, service
from tests.support.processes import wait_until
from tests.support.redis_server import RedisServer, running_redis
from tests.support.worker_process import running_worker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

QUEUES = {"settle": "settle.before", "handle": "handle.before"}


@pytest.fixture
def broker() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
def platform(redis_url: str, broker: RedisServer) -> Iterator[Platform]:
    with running_platform(redis_url, broker_url=broker.url) as platform:
        platform.registry = Registry()
        platform.registry.add(service("before", charge=ChargePolicy.UPFRONT))
        yield platform


def envelope(queue: str, task: Any, job_id: str, body: Any = None, **headers: Any) -> str:
    """Spell a message as Kombu does."""
    given = [[job_id], {}, {}] if body is None else body
    return json.dumps(
        {
            "body": base64.b64encode(json.dumps(given).encode()).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {"lang": "py", "task": task, "id": "forged", **headers},
            "properties": {
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "body_encoding": "base64",
                "delivery_tag": os.urandom(8).hex(),
            },
        }
    )


def forged(queue: str, task: str, job_id: str) -> list[str]:
    """List what an attacker may put into a list of the broker."""
    whole = envelope(queue, task, job_id)
    callback = {"callbacks": [{"task": task, "args": ["x"], "kwargs": {}}]}
    bodies: list[Any] = [{}, [], [1, 2], [[[]], {}, {}], [["x"], {}, callback]]
    return [
        *("{}", "[]", "null", "5", '"text"', "garbage", "", "[" * 50_000, "\udcff"),
        *(json.dumps({"properties": kind}) for kind in (None, [], {}, {"delivery_tag": []})),
        whole.replace('"base64"', '"gzip"'),
        whole.replace("application/json", "application/x-python-serialize"),
        json.dumps({**json.loads(whole), "body": "%%%"}),
        json.dumps({**json.loads(whole), "headers": []}),
        *(envelope(queue, name, job_id) for name in (None, [], {}, "no.such.task", 5)),
        *(envelope(queue, task, job_id, body=body) for body in bodies),
        envelope(queue, task, job_id, eta="2099-01-01T00:00:00+00:00"),
        envelope(queue, task, job_id, expires="never"),
        envelope(queue, task, job_id, timelimit=[0.001, 0.001]),
        envelope(queue, task, job_id, timelimit="soon"),
    ]


@pytest.mark.parametrize(("kind", "task"), [("settle", SETTLE_JOB), ("handle", HANDLE_JOB)])
def test_no_message_ends_a_worker_or_its_work(
    platform: Platform, broker: RedisServer, kind: str, task: str, tmp_path: Path
) -> None:
    """All of them, then a wake-up: the same process serves it, at the first attempt."""
    job = platform.buy("before")
    if kind == "handle":
        platform.settler.settle(job.id)
    with running_worker(platform, kind, tmp_path / "log") as process, Redis.from_url(broker.url) as client:
        for message in forged(QUEUES[kind], task, job.id):
            client.lpush(f"wake:{QUEUES[kind]}", message.encode("utf-8", "surrogateescape"))
        assert wait_until(lambda: client.llen(f"wake:{QUEUES[kind]}") == 0, 30)
        wake(platform, kind, job)
        assert wait_until(lambda: is_served(platform.job(job), kind), 30), (tmp_path / "log").read_text()[
            -3000:
        ]
        assert process.poll() is None
    assert platform.job(job).starts <= 1
    assert "broker_message_dropped" in (tmp_path / "log").read_text()


def test_a_full_broker_ends_no_worker(platform: Platform, broker: RedisServer, tmp_path: Path) -> None:
    """Nor does one that was made a replica: the worker goes on when it takes commands again."""
    with (
        running_worker(platform, "settle", tmp_path / "log") as process,
        Redis.from_url(broker.url) as client,
    ):
        served(platform)
        for spoil, mend in ((full, empty), (demote, promote)):
            spoil(client)
            time.sleep(2)
            assert process.poll() is None
            mend(client)
            served(platform)
        assert process.poll() is None


def served(platform: Platform) -> None:
    """Sell and settle a job over the broker, published as often as a sweep would."""
    job = platform.buy("before")

    def is_settled() -> bool:
        wake(platform, "settle", job)
        return wait_until(lambda: is_served(platform.job(job), "settle"), 2)

    assert wait_until(is_settled, 30)


def wake(platform: Platform, kind: str, job: Job) -> None:
    publisher = CeleryDispatcher(make_app(platform.settings, platform.registry))
    getattr(publisher, kind)(job.id)


def is_served(job: Job, kind: str) -> bool:
    return job.status is Status.QUEUED if kind == "settle" else job.is_final


def full(client: "Redis") -> None:
    client.config_set("maxmemory", 1)
    client.client_kill_filter(_type="normal", skipme=True)


def empty(client: "Redis") -> None:
    client.config_set("maxmemory", 0)


def demote(client: "Redis") -> None:
    client.replicaof("127.0.0.1", 9)


def promote(client: "Redis") -> None:
    client.replicaof("NO", "ONE")
