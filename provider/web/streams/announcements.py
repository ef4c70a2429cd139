"""Which services have jobs waiting, told to the remote workers that may run them (§11).

A wake-up and no reservation: whoever hears it claims, and may find that another was faster.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from provider.jobs.model.status import Status
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.tokens import RemoteWorker, Tokens
from provider.payments.wire import compact
from provider.web.streams.stream import NEVER, Feed, News, frame

AGAIN_SECONDS = 30.0
"""While jobs wait, they are announced so often: an announcement may be lost, and so may who heard it."""
PEACE_SECONDS = 1.0
"""However fast jobs come and go, a worker is told so often at most: each hearer claims."""
WORDS = ("", Status.QUEUED.value)


@dataclass(eq=False, slots=True, kw_only=True)
class WorkerFeed(Feed):
    """The announcements for one worker; its topics are services."""

    worker: RemoteWorker

    def pause_seconds(self, topic: str, word: str) -> float:
        return PEACE_SECONDS if word in WORDS else NEVER


def worker_feed(worker: RemoteWorker, services: Iterable[str]) -> WorkerFeed:
    """Follow the lanes of services for a worker."""
    return WorkerFeed(topics=frozenset(services), every_seconds=AGAIN_SECONDS, worker=worker)


class Announcements:
    """Reads the lanes of many feeds at once."""

    def __init__(self, lanes: Lanes, tokens: Tokens) -> None:
        self._lanes = lanes
        self._tokens = tokens

    def news(self, feeds: Sequence[WorkerFeed]) -> list[News]:
        """Tell each worker how many jobs wait in its lanes; the stream of one whose token is gone ends."""
        known = self._tokens.known([feed.worker for feed in feeds])
        services = frozenset().union(*(feed.topics for feed in feeds if feed.worker in known))
        waiting = {name: self._lanes.load(name)[0] for name in services}
        return [self._of(feed, waiting) if feed.worker in known else News(ends=True) for feed in feeds]

    def _of(self, feed: WorkerFeed, waiting: dict[str, int]) -> News:
        told = {name: waiting[name] for name in sorted(feed.topics) if waiting[name]}
        return News(frame("queued", compact({"waiting": told})) if told else b"")
