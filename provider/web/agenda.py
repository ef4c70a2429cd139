"""Who is in the hub, what wakes them, and when they are due. One thread works with it."""

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator

from provider.web.guests import Guest
from provider.web.streams.stream import NEVER


class Agenda:
    """Finds the guests of a topic, and those that are due, without looking at the others."""

    def __init__(self) -> None:
        self.guests: set[Guest] = set()
        self._followers: defaultdict[str, set[Guest]] = defaultdict(set)
        self._due: list[tuple[float, int, Guest]] = []
        self._number = itertools.count()

    def add(self, guest: Guest) -> None:
        self.guests.add(guest)
        for topic in guest.feed.topics:
            self._followers[topic].add(guest)
        self.schedule(guest)

    def remove(self, guest: Guest) -> None:
        self.guests.discard(guest)
        for topic in guest.feed.topics:
            self._followers[topic].discard(guest)
            if not self._followers[topic]:
                del self._followers[topic]

    def follows(self, topic: str) -> bool:
        """Tell whether anybody is woken by a topic; other threads may ask."""
        return topic in self._followers

    def call(self, topic: str, words: Iterable[str]) -> None:
        """Ask soon for those whom a topic wakes; for everybody when it is empty."""
        for guest in self._followers.get(topic, ()) if topic else self.guests:
            pause = min(guest.feed.pause_seconds(topic, word) for word in words)
            guest.news_at = min(guest.news_at, guest.asked_at + pause)
            self.schedule(guest)

    def schedule(self, guest: Guest) -> None:
        """See to it that a guest is found when it is due; an entry that is too early is harmless."""
        if guest.next_due < guest.noted_at:
            guest.noted_at = guest.next_due
            heapq.heappush(self._due, (guest.noted_at, next(self._number), guest))

    def due(self, now: float) -> Iterator[Guest]:
        """Give each guest that is due, once; schedule it again afterwards."""
        while self._due and self._due[0][0] <= now:
            at, _, guest = heapq.heappop(self._due)
            if guest not in self.guests or at != guest.noted_at:
                continue
            guest.noted_at = NEVER
            if guest.next_due <= now:
                yield guest
            else:
                self.schedule(guest)

    @property
    def next_due(self) -> float:
        return self._due[0][0] if self._due else NEVER
