"""Waiting for jobs to change without polling: one Redis subscription a process serves all that wait."""

import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import structlog
from redis.exceptions import ConnectionError as RedisConnectionError

from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.jobs.store.client import REDIS_ERRORS, reaching_redis
from provider.jobs.store.jobs import JobStore

log = structlog.get_logger()

SUBSCRIPTION_LOST = "events_subscription_lost"
RECONNECT_SECONDS = 0.5
QUIET_SECONDS = 15.0
"""After so long without a message Redis is pinged, and has as long to answer: routers forget connections in
which nothing happens, and close neither end."""


def announce(store: JobStore, job_id: str) -> None:
    """Publish that a job is queued, without a change of its record. Raises StoreUnavailable."""
    with reaching_redis():
        store.client.publish(keys.job(job_id), Status.QUEUED.value)


class Waiter:
    """What one thread waits for: a job, whose changes are urgent, and services, whose jobs' changes are not.

    `words` are the statuses that matter of a service's jobs; None stands for all. Progress never does.
    """

    def __init__(
        self, job_id: str = "", services: Collection[str] = (), words: Collection[str] | None = None
    ) -> None:
        self.job_id = job_id
        self.services = frozenset(services)
        self.is_stopped = False
        self._words = words
        self._urgent = threading.Event()
        self._changed = threading.Event()

    @property
    def topics(self) -> Collection[str]:
        return self.services | {self.job_id} if self.job_id else self.services

    def wait(self, seconds: float, *, patience: float = 0.0) -> bool:
        """Wait at most `seconds` for a change; one that is not urgent does not end the first `patience`."""
        patience = min(max(patience, 0.0), seconds)
        changed = patience > 0 and self._urgent.wait(patience)
        if not changed and patience < seconds:
            changed = self._changed.wait(seconds - patience)
        if changed:
            self._urgent.clear()
            self._changed.clear()
        return changed

    def notice(self, topic: str, word: str) -> None:
        """Note a change; without a topic anything may have changed."""
        is_urgent = topic in ("", self.job_id)
        if is_urgent:
            self._urgent.set()
        if is_urgent or self._words is None or word in self._words:
            self._changed.set()

    def stop(self) -> None:
        """End the present wait and those to come."""
        self.is_stopped = True
        self.notice("", "")


class JobEvents:
    """Wakes waiters when records change. Threads and greenlets share it; forks must not."""

    def __init__(self, store: JobStore) -> None:
        self._client = store.client
        self._lock = threading.Lock()
        self._waiters: set[Waiter] = set()
        self._by_topic: defaultdict[str, set[Waiter]] = defaultdict(set)
        self._thread: threading.Thread | None = None
        self._is_stopping = False

    @contextmanager
    def waking(self, waiter: Waiter) -> Iterator[Waiter]:
        """Wake a waiter from here to the end of the block; what changed before must be read inside it."""
        with self._lock:
            self._waiters.add(waiter)
            for topic in waiter.topics:
                self._by_topic[topic].add(waiter)
            if self._is_stopping:
                waiter.stop()
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="job-events", daemon=True)
                self._thread.start()
        try:
            yield waiter
        finally:
            self._forget(waiter)

    def stop(self) -> None:
        """Stop all waiters, present and future."""
        with self._lock:
            self._is_stopping = True
            for waiter in self._waiters:
                waiter.stop()

    def _forget(self, waiter: Waiter) -> None:
        with self._lock:
            self._waiters.discard(waiter)
            for topic in waiter.topics:
                self._by_topic[topic].discard(waiter)
                if not self._by_topic[topic]:
                    del self._by_topic[topic]

    def _listen(self) -> None:
        while True:
            try:
                self._follow()
            except REDIS_ERRORS:
                log.warning(SUBSCRIPTION_LOST)
            except Exception:
                log.exception(SUBSCRIPTION_LOST)  # All waiters depend on this thread.
            time.sleep(RECONNECT_SECONDS)

    def _follow(self) -> None:
        """Pass messages on until the connection breaks; once there is another, every waiter is woken."""
        pubsub: Any = self._client.pubsub()  # type: ignore[no-untyped-call]
        try:
            pubsub.psubscribe(keys.EVENTS)
            while True:
                message = _next(pubsub)
                if message["type"] == "psubscribe":
                    self._wake("", "")
                elif message["type"] == "pmessage":
                    self._wake(keys.job_id_of(message["channel"]), message["data"])
        finally:
            with suppress(*REDIS_ERRORS):
                pubsub.close()

    def _wake(self, job_id: str, word: str) -> None:
        service = "" if word == "progress" else job_id.rpartition(".")[0]
        with self._lock:
            if not job_id:
                for waiter in self._waiters:
                    waiter.notice("", word)
            for topic in filter(None, (job_id, service)):
                for waiter in self._by_topic.get(topic, ()):
                    waiter.notice(topic, word)


def _next(pubsub: Any) -> Any:
    """Wait for a message; when none comes, for the answer to a ping. Raises when there is none."""
    message = pubsub.get_message(timeout=QUIET_SECONDS)
    if message is None:
        pubsub.ping()
        message = pubsub.get_message(timeout=QUIET_SECONDS)
    if message is None:
        raise RedisConnectionError("Redis says nothing to its subscriber.")
    return message
