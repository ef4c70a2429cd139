"""Waiting for a job to change without polling: one Redis subscription a process serves all waiters."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import structlog
from redis.exceptions import ConnectionError as RedisConnectionError

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.jobs.store.client import REDIS_ERRORS, reaching_redis
from provider.jobs.store.jobs import JobStore

log = structlog.get_logger()

SUBSCRIPTION_LOST = "events_subscription_lost"
RECONNECT_SECONDS = 0.5
SUBSCRIBE_SECONDS = 2.0
QUIET_SECONDS = 15.0
"""After so long without a message Redis is pinged, and has as long to answer: routers
forget connections in which nothing happens, and tell neither end."""

Listener = Callable[[str, str], None]
"""Called with a job id and the word published with it; two empty texts when anything may have changed."""


def announce(store: JobStore, job_id: str) -> None:
    """Publish that a job is queued, without a change of its record. Raises StoreUnavailable."""
    with reaching_redis():
        store.client.publish(keys.job(job_id), Status.QUEUED.value)


class JobEvents:
    """Wakes the waiters of a job when its record changes. Threads share it; forks must not."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._waiting: defaultdict[str, set[threading.Event]] = defaultdict(set)
        self._listeners: list[Listener] = []
        self._subscribed = threading.Event()
        self._thread: threading.Thread | None = None

    def wait(self, job_id: str, done: Callable[[Job], bool], seconds: float) -> Job:
        """Return the job once `done` says so, or as it is after `seconds`.

        Raises JobNotFound, StoreUnavailable.
        """
        if seconds <= 0:
            return self._store.get(job_id)
        ends_at = time.monotonic() + seconds
        with self._woken_by(job_id) as woken:
            job = self._store.get(job_id)
            while not done(job) and (left := ends_at - time.monotonic()) > 0:
                woken.wait(left)
                woken.clear()
                job = self._store.get(job_id)
        return job

    @contextmanager
    def _woken_by(self, job_id: str) -> Iterator[threading.Event]:
        woken = threading.Event()
        with self._lock:
            self._waiting[job_id].add(woken)
            self._start()
        self._subscribed.wait(SUBSCRIBE_SECONDS)
        try:
            yield woken
        finally:
            with self._lock:
                self._waiting[job_id].discard(woken)
                if not self._waiting[job_id]:
                    del self._waiting[job_id]

    def listen(self, listener: Listener) -> None:
        """Call `listener` on every change of any job, in a thread that it must not hold up."""
        with self._lock:
            self._listeners.append(listener)
            self._start()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._listen, name="job-events", daemon=True)
            self._thread.start()

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
        """Pass messages on until the connection breaks; each waiter then reads its job once more."""
        pubsub: Any = self._store.client.pubsub()  # type: ignore[no-untyped-call]
        try:
            pubsub.psubscribe(keys.EVENTS)
            while True:
                message = _next(pubsub)
                if message["type"] == "psubscribe":
                    self._subscribed.set()
                    self._publish("", "")
                elif message["type"] == "pmessage":
                    self._publish(keys.job_id_of(message["channel"]), message["data"])
        finally:
            with suppress(*REDIS_ERRORS):
                pubsub.close()

    def _publish(self, job_id: str, word: str) -> None:
        with self._lock:
            for waiting in [job_id] if job_id else list(self._waiting):
                for woken in self._waiting.get(waiting, ()):
                    woken.set()
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(job_id, word)


def _next(pubsub: Any) -> Any:
    """Wait for a message; when none comes, for the answer to a question. Raises when there is none."""
    message = pubsub.get_message(timeout=QUIET_SECONDS)
    if message is None:
        pubsub.ping()
        message = pubsub.get_message(timeout=QUIET_SECONDS)
    if message is None:
        raise RedisConnectionError("Redis says nothing to its subscriber.")
    return message
