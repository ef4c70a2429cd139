"""Which services have jobs waiting, announced to the remote workers that may run them (§11).

An announcement is a wake-up and no reservation: a worker that hears it claims, and may find that another was
faster.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from provider.jobs.model.status import Status
from provider.jobs.store.lanes import Lanes
from provider.jobs.store.subscription import Waiter
from provider.jobs.store.tokens import RemoteWorker, Tokens
from provider.strict_json import compact
from provider.web.shared_reads import SharedReads
from provider.web.streams.stream import News, frame

AGAIN_SECONDS = 30.0
"""While jobs wait, they are announced this often: an announcement may be lost, and its hearer may crash."""
PAUSE_SECONDS = 1.0
"""However fast jobs come and go, a worker gets one announcement in this time at most: each hearer claims."""


@dataclass(frozen=True, slots=True)
class _Listener:
    worker: RemoteWorker
    services: frozenset[str]


class Announcements:
    """Reads the lanes for all remote workers that listen at the same time."""

    def __init__(self, lanes: Lanes, tokens: Tokens) -> None:
        self._lanes = lanes
        self._tokens = tokens
        self._reads = SharedReads(self._read)

    def waiting(self, listener: _Listener) -> Mapping[str, int] | None:
        """Count the jobs that wait in a worker's lanes; None when its token is revoked."""
        return self._reads.get(listener)

    def _read(self, listeners: Sequence[_Listener]) -> Mapping[_Listener, Mapping[str, int]]:
        known = self._tokens.known([listener.worker for listener in listeners])
        valid = [listener for listener in listeners if listener.worker in known]
        services = frozenset().union(*(listener.services for listener in valid))
        counts = {name: self._lanes.load(name)[0] for name in services}
        return {listener: _nonzero(counts, listener.services) for listener in valid}


class WorkerFeed:
    """The announcements for one worker."""

    def __init__(self, announcements: Announcements, worker: RemoteWorker, services: Collection[str]) -> None:
        self.waiter = Waiter(services=services, words=(Status.QUEUED.value,))
        self.every_seconds = AGAIN_SECONDS
        self.patience_seconds = PAUSE_SECONDS
        self._announcements = announcements
        self._listener = _Listener(worker, frozenset(services))

    def news(self) -> News:
        """Say how many jobs wait in the worker's lanes, if any do."""
        waiting = self._announcements.waiting(self._listener)
        if waiting is None:
            return News(ends=True)
        return News(frame("queued", compact({"waiting": waiting})) if waiting else ())


def _nonzero(counts: Mapping[str, int], services: Collection[str]) -> Mapping[str, int]:
    return {name: counts[name] for name in sorted(services) if counts[name]}
