"""The rounds of beat's schedule: each is begun once and run once, whatever races (C3)."""

from collections import Counter

import pytest

from provider.jobs.store import keys
from provider.jobs.store.rounds import Rounds
from tests.support.jobs import Platform
from tests.support.racing import race_rounds

BEATS = 6
RACES = 300


@pytest.fixture
def rounds(platform: Platform) -> Rounds:
    return Rounds(platform.store)


def test_beats_that_saw_the_same_round_begin_the_next_one_once(rounds: Rounds) -> None:
    """Two beats run nothing twice, however close together they look."""
    begun: list[int | None] = []
    race_rounds(
        BEATS,
        RACES,
        lambda: rounds.last("sweep").number,
        lambda number, _: begun.append(rounds.begin("sweep", number)),
    )
    assert sorted(number for number in begun if number) == list(range(1, RACES + 1))
    assert len(begun) == BEATS * RACES


def test_a_message_that_comes_many_times_is_one_run(rounds: Rounds) -> None:
    """C1: doubled messages do no harm."""
    ran: Counter[int] = Counter()

    def begin() -> int:
        number = rounds.begin("sweep", rounds.last("sweep").number)
        assert number
        return number

    race_rounds(BEATS, RACES, begin, lambda number, _: ran.update([number] * rounds.run("sweep", number)))
    assert ran == Counter(range(1, RACES + 1))


def test_messages_that_piled_up_are_one_run(rounds: Rounds) -> None:
    """It begins after all of their rounds did; the message of a later round is another run."""
    for number in range(5):
        assert rounds.begin("sweep", number)
    assert [rounds.run("sweep", number) for number in (2, 3, 4, 5, 1)] == [True] + [False] * 4
    assert rounds.begin("sweep", 5)
    assert rounds.run("sweep", 6)


def test_rounds_of_different_entries_do_not_meet(rounds: Rounds) -> None:
    """A reconciliation is no sweep."""
    assert rounds.begin("sweep", 0) == rounds.begin("reconcile", 0) == 1
    assert rounds.run("sweep", 1)
    assert rounds.run("reconcile", 1)


def test_a_message_from_before_redis_lost_its_rounds_is_a_run(rounds: Rounds) -> None:
    """Its number says nothing any more, and the messages after it must count again."""
    assert rounds.run("sweep", 4711)
    assert rounds.begin("sweep", 0) == 1
    assert rounds.run("sweep", 1)


def test_a_round_that_began_in_the_future_is_none(platform: Platform, rounds: Rounds) -> None:
    """The clock that it was begun by is worth nothing; its number is, so that no round is begun twice."""
    assert rounds.begin("sweep", 0)
    assert rounds.last("sweep").began
    platform.store.client.hincrby(keys.round_of("sweep"), "at_ms", 3_600_000)
    assert (rounds.last("sweep").began, rounds.last("sweep").number) == (None, 1)
