"""The worker: claims jobs while it has a free place, and runs them side by side (§11)."""

import random
import threading
import time
from collections.abc import Sequence

import structlog

from provider.errors import PlatformRefused, PlatformUnreachable
from provider.remote_worker.gateway_client import GatewayClient, Job
from provider.remote_worker.job_run import UNREACHABLE, JobRun

log = structlog.get_logger()

LISTENING = "announcements_heard"
STOPPING = "worker_stopping"
POLL_SECONDS = 30.0
"""Interval of claims without an announcement, since one may be lost."""
UNSUBSCRIBED_POLL_SECONDS = 5.0
"""The same while there is no subscription."""
MOST_RETRY_SECONDS = 30.0


class Worker:
    """Runs jobs until it is stopped."""

    def __init__(
        self, gateway: GatewayClient, services: Sequence[str], command: Sequence[str],
        *, concurrency: int = 1, grace_seconds: float = 5.0,
    ) -> None:  # fmt: skip
        self._gateway = gateway
        self._services = services
        self._command = command
        self._grace_seconds = grace_seconds
        self._places = threading.BoundedSemaphore(concurrency)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._runs: dict[JobRun, threading.Thread] = {}
        self._subscribed = False

    def run(self) -> None:
        """Work until `stop`, then until all jobs are handed back. Raises PlatformRefused."""
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            while not self._stopping.is_set():
                self._work_once()
        finally:
            self._hand_back()

    def stop(self) -> None:
        """Claim no more jobs, and hand running ones back. May be called by a signal handler."""
        self._stopping.set()
        self._wake.set()

    def _work_once(self) -> None:
        """Claim a job if a place is free; wait for an announcement when no place or no job is."""
        self._wake.clear()
        if self._places.acquire(blocking=False):
            if self._start_next():
                return
            self._places.release()
        self._wake.wait(POLL_SECONDS if self._subscribed else UNSUBSCRIBED_POLL_SECONDS)

    def _start_next(self) -> bool:
        asked_at = time.monotonic()
        job = self._claim()
        if job is None:
            return False
        run = JobRun(
            self._gateway, self._command, job, claimed_at=asked_at, grace_seconds=self._grace_seconds
        )
        thread = self._runs[run] = threading.Thread(target=self._run, args=(run,))
        thread.start()
        return True

    def _claim(self) -> Job | None:
        """Claim a job, with exponential backoff while the platform is away."""
        retry_seconds = 1.0
        while not self._stopping.is_set():
            try:
                return self._gateway.claim(self._services)
            except PlatformUnreachable as error:
                log.warning(UNREACHABLE, detail=error.detail)
                self._stopping.wait(random.uniform(retry_seconds / 2, retry_seconds))
                retry_seconds = min(2 * retry_seconds, MOST_RETRY_SECONDS)
        return None

    def _run(self, run: JobRun) -> None:
        try:
            run.run()
        finally:
            del self._runs[run]
            self._places.release()
            self._wake.set()

    def _listen(self) -> None:
        """Keep a subscription to announcements until the worker stops."""
        while not self._stopping.is_set():
            try:
                for _ in self._gateway.announcements(self._services):
                    if not self._subscribed:
                        log.info(LISTENING)
                    self._subscribed = True
                    self._wake.set()
            except (PlatformUnreachable, PlatformRefused) as error:
                log.warning(UNREACHABLE, detail=error.detail)
            self._subscribed = False
            self._stopping.wait(random.uniform(1.0, UNSUBSCRIBED_POLL_SECONDS))

    def _hand_back(self) -> None:
        runs = dict(self._runs)
        log.info(STOPPING, jobs=len(runs))
        for run in runs:
            run.stop()
        for thread in runs.values():
            thread.join()
