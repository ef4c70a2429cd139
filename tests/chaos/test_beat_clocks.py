"""Beats, workers and a Redis whose clocks are wrong: sweep and reconcile go on (C6). Real processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from provider.jobs.store import keys
from tests.support.crew import Crew, crew_of
from tests.support.redis_server import RedisServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HOUR = 3600


@pytest.fixture
def crew(own_redis: RedisServer, tmp_path: Path) -> Iterator[Crew]:
    with crew_of(own_redis, tmp_path) as crew:
        yield crew


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_beat_whose_clock_is_wrong_sweeps_and_harms_no_later_one(crew: Crew, ahead: float) -> None:
    """C6: with RedBeat no sweep came for an hour after one that was ahead, and none at all of one behind."""
    crew.start("maintenance")
    crew.start("beat 1", clock_ahead=ahead)
    assert crew.swept(4)
    crew.stop_beats()
    crew.start("beat 2")
    assert crew.swept(3)


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_worker_whose_clock_is_wrong_sweeps(crew: Crew, ahead: float) -> None:
    """C6: one ahead took each of beat's messages for expired before, and said nothing."""
    crew.start("maintenance", clock_ahead=ahead)
    crew.start("beat 1")
    assert crew.swept(4)


def test_a_round_that_began_in_the_future_is_worth_nothing(crew: Crew) -> None:
    """The clock of Redis itself was an hour ahead: the beat that runs goes on, and so does a new one."""
    crew.start("beat 1")
    assert crew.sends(2)
    with crew.redis() as redis:
        for name in ("beat 1", "beat 2"):
            redis.hincrby(keys.round_of("sweep"), "at_ms", HOUR * 1000)
            assert crew.sends(2), name
            crew.stop_beats()
            crew.start("beat 2")
