"""Several beats, a beat that was away, and a beat whose Redis is away (C3, C5): real processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from redbeat.decoder import RedBeatJSONDecoder, RedBeatJSONEncoder
from redis import Redis
from stellar_sdk import Keypair

from provider.broker.queues import MAINTENANCE
from provider.cli.worker import worker_command
from provider.jobs.model.job import Job, Lease
from provider.jobs.model.status import Status
from provider.jobs.recover.sweep import SWEPT
from tests.support.jobs import Platform, running_platform
from tests.support.processes import family
from tests.support.processes import wait_until as wait_for
from tests.support.redis_cluster import running_cluster
from tests.support.redis_server import RedisServer
from tests.support.timetravel import pass_time

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SWEEP_SECONDS = 0.5
PATIENCE_SECONDS = 60
"""A busy machine takes its time to start a process."""
HOUR = 3600
BEAT_WAITS = "beat_waits_for_redis"
BEAT = [sys.executable, "-m", "celery", "--quiet", "--app", "provider.workers.celery", "beat"]
SENDS = "Scheduler: Sending due task sweep"
LOCK, SCHEDULE = "beat::lock", "beat::schedule"
"""RedBeat's keys under our prefix."""


@dataclass
class Crew:
    """Beats and a maintenance worker, each with a log of its own."""

    server: RedisServer
    home: Path
    settings: dict[str, str] = field(default_factory=dict)
    processes: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)

    def start(self, name: str) -> "subprocess.Popen[bytes]":
        command = BEAT if name.startswith("beat") else worker_command(("maintenance",), [MAINTENANCE], 1)
        own = {
            "PAY_TO": Keypair.random().public_key,
            "PROVIDER_SERVICES": "tests.chaos.services:registry",
            "REDIS_URL": self.server.url,
            "SWEEP_SECONDS": str(SWEEP_SECONDS),
            **self.settings,
        }
        with (self.home / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, env={**os.environ, **own}, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        return self.processes[name]

    def stop_all(self) -> None:
        for process in self.processes.values():
            for pid in family(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)
            process.wait()

    def told(self, name: str, event: str) -> list[dict[str, Any]]:
        """Read the lines of a log whose event begins so."""
        path = self.home / f"{name}.log"
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"].startswith(event)]

    def redis(self) -> "Redis":
        return Redis.from_url(self.server.url, decode_responses=True)

    def sent(self) -> list[float]:
        """Give the times at which any beat sent a sweep."""
        names = [name for name in self.processes if name.startswith("beat")]
        lines = [line for name in names for line in self.told(name, SENDS)]
        return sorted(_seconds(line) for line in lines)

    def sends(self, more: int) -> bool:
        """Wait until so many more sweeps were sent."""
        wanted = len(self.sent()) + more
        return wait_until(lambda: len(self.sent()) >= wanted)


def wait_until(condition: Callable[[], object]) -> bool:
    return wait_for(condition, PATIENCE_SECONDS)


def _seconds(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["timestamp"]).timestamp()


@pytest.fixture
def crew(own_redis: RedisServer, tmp_path: Path) -> Iterator[Crew]:
    """Employ nobody yet."""
    crew = Crew(own_redis, tmp_path)
    try:
        yield crew
    finally:
        crew.stop_all()


def test_two_beats_at_once_run_nothing_twice(crew: Crew) -> None:
    """C3: one sends while the other waits, and goes on in its place once it is dead."""
    for name in ("maintenance", "beat 1", "beat 2"):
        crew.start(name)
    assert crew.sends(4)
    working, waiting = sorted(("beat 1", "beat 2"), key=lambda name: not crew.told(name, SENDS))
    assert not crew.told(waiting, SENDS)
    crew.processes[working].kill()
    with crew.redis() as redis:
        redis.pexpire(LOCK, 1)  # What would take ten seconds.
    assert crew.sends(4)
    assert crew.told(waiting, SENDS)
    gaps = [later - sooner for sooner, later in pairwise(crew.sent())]
    assert min(gaps) > 0.9 * SWEEP_SECONDS, gaps
    assert len(crew.told("maintenance", SWEPT)) <= len(crew.sent()) + 1, "one more at its start"


def test_a_beat_that_was_away_for_an_hour_catches_up_in_one_pass(crew: Crew) -> None:
    """Issue 3: one sweep, not 3600 of them, does all that became due meanwhile."""
    crew.start("maintenance")
    crew.start("beat 1")
    assert crew.sends(2)
    crew.processes["beat 1"].kill()
    with crew.redis() as redis, running_platform(crew.server.url) as platform:
        assert wait_until(lambda: redis.llen("wake:maintenance") == 0)
        jobs = due_jobs(platform)
        pass_an_hour(redis)
        before, sent = len(crew.told("maintenance", SWEPT)), crew.sent()
        crew.start("beat 2")
        assert crew.sends(3)
        runs = crew.told("maintenance", SWEPT)[before:]
        assert runs[0]["actions"] == {"expire": 2, "give_up_settlement": 1, "requeue": 1}
        assert [run["actions"] for run in runs[1:]] == [{}] * (len(runs) - 1)
        assert [platform.job(job).status for job in jobs] == AFTER_AN_HOUR
    times = crew.sent()[len(sent) :]
    assert min(later - sooner for sooner, later in pairwise(times)) > 0.9 * SWEEP_SECONDS


AFTER_AN_HOUR = [Status.FAILED, Status.FAILED, Status.QUEUED, Status.PAYMENT_UNCERTAIN]


def due_jobs(platform: Platform) -> list[Job]:
    """Make a job for each thing that a sweep does: too late twice, its worker lost, its settlement silent."""
    late, unpaid, silent, lost = platform.buy("after"), *(platform.buy("before") for _ in range(3))
    assert platform.store.begin_settlement(silent, "gone", give_up_seconds=30)
    platform.settler.settle(lost.id)
    lease = platform.lanes.lease(platform.registry.get("before"), lost.id, "w", lease_seconds=30)
    assert isinstance(lease, Lease)
    return [late, unpaid, lost, silent]


def pass_an_hour(redis: "Redis") -> None:
    """Move everything into the past, the schedule of a beat that was killed included."""
    pass_time(redis, HOUR)
    redis.delete(LOCK)
    for key, due in redis.zrange(SCHEDULE, 0, -1, withscores=True):
        redis.zadd(SCHEDULE, {key: due - HOUR})
        meta = json.loads(redis.hget(key, "meta"), cls=RedBeatJSONDecoder)
        meta["last_run_at"] -= timedelta(seconds=HOUR)
        redis.hset(key, "meta", json.dumps(meta, cls=RedBeatJSONEncoder))


def test_what_beat_sent_while_no_worker_ran_is_dropped(crew: Crew) -> None:
    """C3: maintenance tasks expire rather than pile up; the worker starts with one sweep of its own."""
    beat = crew.start("beat 1")
    assert crew.sends(4)
    beat.terminate()
    beat.wait(30)
    time.sleep(SWEEP_SECONDS)  # The last of them expires.
    crew.start("maintenance")
    assert wait_until(lambda: crew.told("maintenance", SWEPT))
    discarded = "Discarding revoked task: provider.workers.maintenance.s"
    assert wait_until(lambda: len(crew.told("maintenance", discarded)) >= 3), "beat tells before it sends"
    assert len(crew.told("maintenance", SWEPT)) == 1


def test_a_beat_waits_for_a_redis_that_is_away_when_it_starts(crew: Crew) -> None:
    """C5: it can be stopped meanwhile, and works as soon as Redis is there."""
    crew.server.kill()
    stopped, beat = crew.start("beat 1"), crew.start("beat 2")
    assert wait_until(lambda: crew.told("beat 1", BEAT_WAITS) and crew.told("beat 2", BEAT_WAITS))
    stopped.terminate()
    assert stopped.wait(20) == 0
    crew.server.start()
    assert crew.sends(2)
    assert beat.poll() is None


@pytest.mark.parametrize("forgetful", [False, True])
def test_a_beat_outlives_its_redis(crew: Crew, forgetful: bool) -> None:
    """C5: also when its lock ran out meanwhile and its schedule is lost; nobody starts it again."""
    beat = crew.start("beat 1")
    assert crew.sends(2)
    crew.server.kill()
    assert wait_until(lambda: crew.told("beat 1", BEAT_WAITS))
    crew.server.start()
    with crew.redis() as redis:
        if forgetful:
            redis.flushall()
    assert crew.sends(2)
    assert beat.poll() is None


def test_a_beat_that_waits_for_the_lock_outlives_redis_too(crew: Crew) -> None:
    """It is the one that is needed when the machine of the other one is gone with it."""
    beats = [crew.start("beat 1")]
    assert crew.sends(1)
    beats.append(crew.start("beat 2"))
    assert wait_until(lambda: crew.told("beat 2", "beat: Starting"))
    crew.server.kill()
    assert wait_until(lambda: crew.told("beat 2", BEAT_WAITS))
    beats[0].kill()
    crew.server.start()
    with crew.redis() as redis:
        redis.delete(LOCK)
    assert wait_until(lambda: crew.told("beat 2", SENDS))
    assert beats[1].poll() is None


def test_the_schedule_may_lie_on_a_cluster(crew: Crew) -> None:
    """J7: REDIS_URL names a cluster, BROKER_URL a server; the lock holds there as well."""
    with running_cluster() as cluster:
        crew.settings |= {"REDIS_URL": cluster.url, "BROKER_URL": crew.server.url}
        beats = [crew.start("beat 1"), crew.start("beat 2")]
        assert crew.sends(3)
        assert [beat.poll() for beat in beats] == [None, None]
    assert min(later - sooner for sooner, later in pairwise(crew.sent())) > 0.9 * SWEEP_SECONDS
