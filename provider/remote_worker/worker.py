"""The worker itself: claims jobs while it has a free place, and does them side by side (§11)."""

import random
import threading
import time
from collections.abc import Sequence

import structlog

from provider.errors import PlatformRefused, PlatformUnreachable
from provider.remote_worker.errand import UNREACHABLE, Errand
from provider.remote_worker.platform import Job, Platform

log = structlog.get_logger()

LISTENING = "announcements_heard"
STOPPING = "worker_stopping"
POLL_SECONDS = 30.0
"""Without an announcement a claim is tried this often: one may be lost."""
DEAF_POLL_SECONDS = 5.0
"""The same while nobody tells us of jobs."""
MOST_RETRY_SECONDS = 30.0


class Worker:
    """Does jobs until it is stopped."""

    def __init__(
        self, platform: Platform, services: Sequence[str], command: Sequence[str],
        *, concurrency: int = 1, grace_seconds: float = 5.0,
    ) -> None:  # fmt: skip
        self._platform = platform
        self._services = services
        self._command = command
        self._grace_seconds = grace_seconds
        self._places = threading.BoundedSemaphore(concurrency)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._errands: dict[Errand, threading.Thread] = {}
        self._hears = False

    def run(self) -> None:
        """Work until `stop`, then until all jobs are handed back. Raises PlatformRefused."""
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            while not self._stopping.is_set():
                self._work_once()
        finally:
            self._hand_back()

    def stop(self) -> None:
        """Take no more jobs, and hand those in work back. May be called by a signal handler."""
        self._stopping.set()
        self._wake.set()

    def _work_once(self) -> None:
        """Claim a job if there is a place for it; wait for news if there is none of either."""
        self._wake.clear()
        if self._places.acquire(blocking=False):
            if self._start_next():
                return
            self._places.release()
        self._wake.wait(POLL_SECONDS if self._hears else DEAF_POLL_SECONDS)

    def _start_next(self) -> bool:
        asked_at = time.monotonic()
        job = self._claim()
        if job is None:
            return False
        errand = Errand(
            self._platform, self._command, job, claimed_at=asked_at, grace_seconds=self._grace_seconds
        )
        thread = self._errands[errand] = threading.Thread(target=self._run, args=(errand,))
        thread.start()
        return True

    def _claim(self) -> Job | None:
        """Claim a job; while the platform is away, ever less often."""
        retry_seconds = 1.0
        while not self._stopping.is_set():
            try:
                return self._platform.claim(self._services)
            except PlatformUnreachable as error:
                log.warning(UNREACHABLE, detail=error.detail)
                self._stopping.wait(random.uniform(retry_seconds / 2, retry_seconds))
                retry_seconds = min(2 * retry_seconds, MOST_RETRY_SECONDS)
        return None

    def _run(self, errand: Errand) -> None:
        try:
            errand.run()
        finally:
            del self._errands[errand]
            self._places.release()
            self._wake.set()

    def _listen(self) -> None:
        """Hear of jobs that wait, for as long as the process lives."""
        while not self._stopping.is_set():
            try:
                for _ in self._platform.announcements(self._services):
                    if not self._hears:
                        log.info(LISTENING)
                    self._hears = True
                    self._wake.set()
            except (PlatformUnreachable, PlatformRefused) as error:
                log.warning(UNREACHABLE, detail=error.detail)
            self._hears = False
            self._stopping.wait(random.uniform(1.0, DEAF_POLL_SECONDS))

    def _hand_back(self) -> None:
        errands = dict(self._errands)
        log.info(STOPPING, jobs=len(errands))
        for errand in errands:
            errand.stop()
        for thread in errands.values():
            thread.join()
