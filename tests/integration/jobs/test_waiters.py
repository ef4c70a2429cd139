"""Who waits for a job is woken when it changes (`provider.jobs.store.subscription`)."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from provider.jobs.store import keys
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.subscription import JobEvents, Waiter
from tests.support.waiting import subscribe

JOB = "echo." + "0" * 32
OTHER = "echo." + "1" * 32


@dataclass
class Heard:
    """One process that hears, and what another publishes."""

    store: JobStore
    events: JobEvents

    def publish(self, job_id: str, word: str) -> None:
        self.store.client.publish(keys.job(job_id), word)


@pytest.fixture
def heard(redis_url: str) -> Iterator[Heard]:
    store = JobStore(connect(redis_url))
    heard = Heard(store, JobEvents(store))
    subscribe(heard.events, store)
    yield heard
    heard.events.stop()


def test_each_change_of_the_job_ends_the_wait_at_once(heard: Heard) -> None:
    """Progress too, and however patient the waiter is with others."""
    with heard.events.waking(Waiter(JOB, ["echo"])) as waiter:
        for word in ("running", "progress"):
            heard.publish(JOB, word)
            assert waiter.wait(10, patience=10)


def test_changes_of_other_jobs_of_a_service_may_wait(heard: Heard) -> None:
    """They are not lost meanwhile. Other services wake nobody."""
    with heard.events.waking(Waiter(JOB, ["echo"])) as waiter:
        heard.publish("after." + "2" * 32, "queued")
        heard.publish(OTHER, "queued")
        assert not waiter.wait(0.3, patience=0.3)
        assert waiter.wait(10)
        assert not waiter.wait(0.2)


def test_the_progress_of_other_jobs_is_no_change(heard: Heard) -> None:
    """It is the most frequent message, and moves no position."""
    with heard.events.waking(Waiter(JOB, ["echo"])) as waiter:
        heard.publish(OTHER, "progress")
        assert not waiter.wait(0.3)


def test_a_waiter_may_name_the_words_that_matter(heard: Heard) -> None:
    """A remote worker waits for queued jobs."""
    with heard.events.waking(Waiter(services=["echo"], words=["queued"])) as waiter:
        heard.publish(OTHER, "running")
        assert not waiter.wait(0.3)
        heard.publish(OTHER, "queued")
        assert waiter.wait(10)


def test_all_are_woken_once_redis_is_back(heard: Heard) -> None:
    """A lost subscription loses messages."""
    with heard.events.waking(Waiter(JOB)) as waiter:
        heard.store.client.client_kill_filter(_type="pubsub")
        assert waiter.wait(10)
        heard.publish(JOB, "running")
        assert waiter.wait(10)


def test_a_message_without_meaning_ends_no_subscription(heard: Heard) -> None:
    """Whatever reaches Redis can publish anything."""
    with heard.events.waking(Waiter(JOB)) as waiter:
        heard.store.client.publish("provider:a:job:b:c", "?")
        assert waiter.wait(10)
        heard.publish(JOB, "running")
        assert waiter.wait(10)


def test_a_stopping_process_lets_nothing_wait(heard: Heard) -> None:
    """Neither those that wait, nor those that come now."""
    with heard.events.waking(Waiter(JOB)) as waiter:
        heard.events.stop()
        assert waiter.wait(10)
        assert waiter.is_stopped
    with heard.events.waking(Waiter(JOB)) as late:
        assert late.is_stopped


def test_a_waiter_that_left_is_forgotten(heard: Heard) -> None:
    """A thousand streams a minute must leave nothing behind."""
    for number in range(100):
        with heard.events.waking(Waiter(f"echo.{number:032}", ["echo"])):
            pass
    assert not heard.events._waiters
    assert not heard.events._by_topic
