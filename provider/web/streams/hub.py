"""One thread that serves all event streams and held answers of a web process.

Clients who wait cost a socket and a few kilobytes, no thread and no connection to Redis: changes come from
the one subscription of `JobEvents`, and what changed is read for all who follow it at once.
"""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator

import structlog

from provider.errors import StoreUnavailable
from provider.jobs.store.client import REDIS_ERRORS
from provider.jobs.store.subscription import JobEvents
from provider.web.agenda import Agenda
from provider.web.door import Door, has_gone
from provider.web.guests import WAITING_CLIENTS, Guest, Thread
from provider.web.streams.stream import Feed, News, Source

log = structlog.get_logger()

SOURCE_FAILED = "stream_source_failed"
HUB_FAILED = "stream_hub_failed"
ROUND_SECONDS = 0.05
"""Changes are gathered for so long, so that many cost one read."""
AGAIN_SECONDS = 1.0
MOST_IDLE_SECONDS = 60.0
BATCH = 250
COME_BACK_MS = (500, 5000)
"""Clients of a stopping process come back after a time in between, not all at once."""


class Hub:
    """Wakes guests when their topics change, asks their sources, writes what is new. No fork may share it."""

    def __init__(self, events: JobEvents, *, most: int) -> None:
        self._events = events
        self._most = most
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._coming: list[Guest] = []
        self._going: list[Guest] = []
        self._woken: defaultdict[str, set[str]] = defaultdict(set)
        self._stopping = False
        self._agenda = Agenda()
        self._door = Door()
        self._round_at = 0.0

    def __len__(self) -> int:
        return len(self._agenda.guests) + len(self._coming)

    @property
    def is_full(self) -> bool:
        return len(self) >= self._most

    # Called by other threads

    def allow(self, most: int) -> None:
        """Take fewer guests than the settings say, for a server that can hold no more."""
        self._most = min(self._most, most)

    def add(self, guest: Guest) -> None:
        """Take a guest in, until its stream is over or its answer due."""
        with self._lock:
            self._coming.append(guest)
            if self._thread is None:
                self._start()
        self._door.ring()

    def follow(self, source: Source, feed: Feed) -> Iterator[bytes]:
        """Yield the frames of a feed to a thread that can wait for them."""
        guest = Thread(source, feed)
        self.add(guest)
        try:
            while (frames := guest.frames.get()) is not None:
                yield frames
        finally:
            with self._lock:
                self._going.append(guest)
            self._door.ring()

    def stop(self) -> None:
        """End all streams and let all held answers go, now and from now on; clients come back elsewhere."""
        self._stopping = True
        self._door.ring()

    def _start(self) -> None:
        self._events.listen(self._wake)
        self._thread = threading.Thread(target=self._run, name="streams", daemon=True)
        self._thread.start()

    def _wake(self, job_id: str, word: str) -> None:
        """Note what changed. A job's progress is no news for those who follow its service."""
        service = "" if word == "progress" else job_id.rpartition(".")[0]
        topics = [t for t in (job_id, service) if self._agenda.follows(t)] if job_id else [""]
        if topics:
            with self._lock:
                for topic in topics:
                    self._woken[topic].add(word)
            self._door.ring()

    # In the hub's own thread

    def _run(self) -> None:
        while True:
            try:
                self._turn()
            except Exception:
                log.exception(HUB_FAILED)
                time.sleep(ROUND_SECONDS)

    def _turn(self) -> None:
        for guest, takes_more in self._door.wait(self._idle_seconds()):
            if takes_more:
                self._flush(guest)
            else:
                self._look(guest)
        if time.monotonic() >= self._round_at:
            self._round()
            self._round_at = time.monotonic() + ROUND_SECONDS

    def _idle_seconds(self) -> float:
        stops = self._stopping and self._agenda.guests
        busy = self._coming or self._going or self._woken or stops
        due = self._round_at if busy else max(self._round_at, self._agenda.next_due)
        return min(max(0.0, due - time.monotonic()), MOST_IDLE_SECONDS)

    def _round(self) -> None:
        with self._lock:
            coming, self._coming = self._coming, []
            going, self._going = self._going, []
            woken, self._woken = self._woken, defaultdict(set)
        for guest in coming:
            self._admit(guest)
        for guest in going:
            self._dismiss(guest)
        for topic, words in woken.items():
            self._agenda.call(topic, words)
        if self._stopping:
            for guest in list(self._agenda.guests):
                self._end(guest, f"retry: {random.randint(*COME_BACK_MS)}\n\n".encode())
        self._serve(time.monotonic())
        WAITING_CLIENTS.set(len(self))

    def _admit(self, guest: Guest) -> None:
        self._agenda.add(guest)
        if guest.sock is not None:
            guest.sock.setblocking(False)
            self._door.watch(guest)

    def _serve(self, now: float) -> None:
        asked: defaultdict[int, list[Guest]] = defaultdict(list)
        for guest in self._agenda.due(now):
            if guest.unsent:
                self._dismiss(guest)
            elif guest.until <= now:
                self._end(guest)
            elif guest.news_at <= now:
                asked[id(guest.source)].append(guest)
            else:
                guest.beat()
                self._flush(guest)
        for guests in asked.values():
            for start in range(0, len(guests), BATCH):
                self._ask(guests[start : start + BATCH])

    def _ask(self, guests: list[Guest]) -> None:
        now = time.monotonic()
        for guest in guests:
            guest.asked_at, guest.news_at = now, now + guest.feed.every_seconds
        for guest, (frames, ends) in zip(guests, self._news(guests), strict=True):
            if ends:
                self._end(guest, frames)
            else:
                guest.tell(frames)
                self._flush(guest)

    def _news(self, guests: list[Guest]) -> list[News]:
        try:
            return list(guests[0].source.news([guest.feed for guest in guests]))
        except (StoreUnavailable, *REDIS_ERRORS):
            for guest in guests:
                guest.news_at = guest.asked_at + AGAIN_SECONDS
            return [News()] * len(guests)
        except Exception:
            log.exception(SOURCE_FAILED)
            return [News(ends=True)] * len(guests)

    def _end(self, guest: Guest, frames: bytes = b"") -> None:
        """Let a guest go once it has taken its last frames."""
        if not guest.is_ending:
            guest.is_ending = True
            guest.tell(frames)
            self._flush(guest)

    def _flush(self, guest: Guest) -> None:
        """Send what is taken, watch for the rest, and see to the time that follows."""
        try:
            guest.flush()
        except OSError:
            self._dismiss(guest)
            return
        if guest.is_ending and not guest.unsent:
            self._dismiss(guest)
        else:
            self._door.watch(guest)
            self._agenda.schedule(guest)

    def _look(self, guest: Guest) -> None:
        """See to a client that has gone, or sends more than its request and is not listened to any more."""
        if has_gone(guest):
            self._dismiss(guest)
        else:
            guest.is_deaf = True
            self._door.watch(guest)

    def _dismiss(self, guest: Guest) -> None:
        """Give a guest back, whatever it has taken."""
        if guest not in self._agenda.guests:
            return
        self._agenda.remove(guest)
        self._door.forget(guest)
        guest.leave()
