"""Several beats, a beat that was away, and a beat whose Redis is away (C3, C5): real processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from provider.jobs.model.job import Job, Lease
from provider.jobs.model.status import Status
from provider.jobs.recover.sweep import SWEPT
from provider.jobs.store import keys
from tests.support.crew import SENDS, STARTS, Crew, crew_of, wait_until
from tests.support.jobs import Platform, running_platform
from tests.support.redis_cluster import running_cluster
from tests.support.redis_server import RedisServer
from tests.support.timetravel import pass_time

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HOUR = 3600
BEAT_WAITS = "beat_waits_for_redis"


@pytest.fixture
def crew(own_redis: RedisServer, tmp_path: Path) -> Iterator[Crew]:
    with crew_of(own_redis, tmp_path) as crew:
        yield crew


def test_two_beats_at_once_run_nothing_twice(crew: Crew) -> None:
    """C3: each sends what the other has not, and goes on at once when the other is dead."""
    for name in ("maintenance", "beat 1", "beat 2"):
        crew.start(name)
    assert crew.sends(1)
    began = crew.last_round()
    assert crew.sends(4)
    assert wait_until(lambda: crew.told("beat 1", STARTS) and crew.told("beat 2", STARTS))
    crew.processes["beat 1"].kill()
    sent = len(crew.told("beat 2", SENDS))
    assert wait_until(lambda: len(crew.told("beat 2", SENDS)) >= sent + 4)
    crew.sent_nothing_twice(began)
    assert len(crew.told("maintenance", SWEPT)) <= crew.sent() + 1, "one more at its start"


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
        assert wait_until(lambda: crew.sent() > sent)
        began = crew.last_round()
        assert crew.sends(3)
        runs = crew.told("maintenance", SWEPT)[before:]
        assert runs[0]["actions"] == {"expire": 2, "give_up_settlement": 1, "requeue": 1}
        assert [run["actions"] for run in runs[1:]] == [{}] * (len(runs) - 1)
        assert [platform.job(job).status for job in jobs] == AFTER_AN_HOUR
    crew.sent_nothing_twice(began)


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
    """Move everything into the past, the last round included."""
    pass_time(redis, HOUR)
    redis.hincrby(keys.round_of("sweep"), "at_ms", -HOUR * 1000)


def test_what_beat_sent_while_no_worker_ran_is_one_run(crew: Crew) -> None:
    """C3: maintenance is dropped rather than piles up; the worker starts with one more sweep of its own."""
    crew.start("beat 1")
    assert crew.sends(4)
    crew.stop_beats()
    with crew.redis() as redis:  # A beat may be stopped between what it logs and what it sends.
        messages = redis.llen("wake:maintenance")
    crew.start("maintenance")
    assert wait_until(lambda: crew.done() > messages)
    assert len(crew.told("maintenance", SWEPT)) == 2


def test_a_deployment_has_entries_of_its_own(crew: Crew) -> None:
    """Beat is Celery's: a crontab is due by the clocks of its zone, and sent once by two beats."""
    crew.app = "tests.chaos.own_entries"
    crew.start("beat 1")
    crew.start("beat 2")
    assert wait_until(lambda: crew.last_round("own-due").began and crew.last_round("own-not-due").began)
    with crew.redis() as redis:
        for entry in ("own-due", "own-not-due"):
            redis.hincrby(keys.round_of(entry), "at_ms", -HOUR * 1000)
    assert wait_until(lambda: crew.sent("own-due"))
    assert crew.sends(3)
    assert (crew.sent("own-due"), crew.sent("own-not-due")) == (1, 0)


# Redis away


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
    """C5: also when Redis has lost its rounds; nobody starts it again."""
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


def test_one_of_two_beats_dies_while_redis_is_away(crew: Crew) -> None:
    """Its machine may be gone with Redis'; the one that is left sends as soon as Redis is there."""
    beats = [crew.start("beat 1"), crew.start("beat 2")]
    assert crew.sends(1)
    assert wait_until(lambda: crew.told("beat 1", STARTS) and crew.told("beat 2", STARTS))
    crew.server.kill()
    assert wait_until(lambda: crew.told("beat 2", BEAT_WAITS))
    beats[0].kill()
    sent = len(crew.told("beat 2", SENDS))
    crew.server.start()
    assert wait_until(lambda: len(crew.told("beat 2", SENDS)) > sent)
    assert beats[1].poll() is None


def test_the_rounds_may_lie_on_a_cluster(crew: Crew) -> None:
    """J7: REDIS_URL names a cluster, BROKER_URL a server; nothing is sent twice there either."""
    with running_cluster() as cluster:
        crew.settings |= {"REDIS_URL": cluster.url, "BROKER_URL": crew.server.url}
        beats = [crew.start("beat 1"), crew.start("beat 2")]
        assert crew.sends(1)
        began = crew.last_round()
        assert crew.sends(3)
        assert [beat.poll() for beat in beats] == [None, None]
        crew.sent_nothing_twice(began)
