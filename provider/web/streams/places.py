"""How many clients may wait in one process, for events or for an answer."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Gauge

MOST_A_JOB = 50
"""Streams of one job: its buyer has some windows open, and a stream may take a while to be found dead."""

WAITING_CLIENTS = Gauge(
    "provider_http_waiting_clients",
    "Event streams and held answers.",
    registry=None,
    multiprocess_mode="livesum",
)


class Places:
    """Counts the clients that wait, in all and for each job that is followed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._taken = 0
        self._by_job: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._taken

    def allow(self, most: int) -> None:
        """Take fewer clients than the settings say, for a server that can hold no more."""
        self._most = min(self._most, most)

    def is_full(self, job_id: str = "") -> bool:
        """Check whether one more client may wait; with a job's id, whether one more may follow that job."""
        return self._taken >= self._most or self._by_job[job_id] >= MOST_A_JOB

    @contextmanager
    def taken(self, job_id: str = "") -> Iterator[None]:
        """Count a client to the end of the block."""
        self._count(job_id, 1)
        try:
            yield
        finally:
            self._count(job_id, -1)

    def _count(self, job_id: str, number: int) -> None:
        with self._lock:
            self._taken += number
            self._by_job[job_id] += number if job_id else 0
            if not self._by_job[job_id]:
                del self._by_job[job_id]
        WAITING_CLIENTS.inc(number)
