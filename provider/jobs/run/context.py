"""What a handler gets besides its input (R3): its end of the pipe to the worker.

Threads of a handler may share it. Once the handler has ended, threads that it left behind are heard no more.
"""

import os
import threading
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import structlog

from provider.errors import CheckpointRefused, NotThisProcess
from provider.jobs.run.framing import Outlet
from provider.jobs.run.messages import Checkpoint, Message, Order, Stored
from provider.services.checkpoints import Checkpoints
from provider.services.progress import PROGRESS_SECONDS, Progress

Answers = SimpleQueue[Stored | None]
"""The worker's answers to checkpoints, in order; None ends the wait for one that will not come."""


class JobContext:
    """The `provider.services.Context` of one attempt."""

    def __init__(self, order: Order, outlet: Outlet, stopped: threading.Event, answers: Answers) -> None:
        self.job_id = order.job_id
        self.attempt = order.attempt
        self.deadline = time.time() + order.budget_seconds
        self.cancelled = stopped
        self.logger = structlog.get_logger().bind(job_id=order.job_id)
        self._checkpoints = Checkpoints(order.limits, order.completed_units, order.cursors)
        self._answers = answers
        self._one_at_a_time = threading.Lock()
        self._outlet: Outlet | None = outlet
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._progress_at = 0.0
        self._timer: threading.Timer | None = None
        self._pid = os.getpid()

    @property
    def completed_units(self) -> AbstractSet[str]:
        return self._checkpoints.completed_units

    @property
    def cursors(self) -> Mapping[str, Any]:
        return self._checkpoints.cursors

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        progress = Progress.reported(done, total, message)
        self._check_process()
        with self._lock:
            self._progress = progress
            self._send_in_time()

    def checkpoint(self, unit: str, cursor: Any = None) -> None:
        """Have a checkpoint stored: it is when this returns, unless the handler has to stop."""
        self._check_process()
        with self._one_at_a_time:
            text = self._checkpoints.spell(unit, cursor)
            with self._lock:
                self._send(Checkpoint(unit, text))
                waits = self._outlet is not None and not self.cancelled.is_set()
            answer = self._answers.get() if waits else None
            if answer is not None and answer.refusal:
                raise CheckpointRefused(answer.refusal)
            if answer is not None:
                self._checkpoints.note(unit, text)

    def close(self) -> None:
        """Send the last progress, and accept no further calls of the handler."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._send_progress()
            self._outlet = None
            self._answers.put(None)

    def _check_process(self) -> None:
        """Refuse a process that the handler forked: the answers of the worker do not reach it."""
        if os.getpid() != self._pid:
            raise NotThisProcess

    def _send_in_time(self) -> None:
        """Send the progress if it is time, else start a timer: there may be no further call."""
        wait = self._progress_at - time.monotonic()
        if wait <= 0:
            self._send_progress()
        elif self._timer is None:
            self._timer = threading.Timer(wait, self._send_late)
            self._timer.daemon = True
            self._timer.start()

    def _send_late(self) -> None:
        with self._lock, suppress(OSError):  # The worker may be gone, and this process with it soon.
            self._timer = None
            if self._progress is not None:
                self._send_in_time()

    def _send_progress(self) -> None:
        if self._progress is not None:
            self._send(self._progress)
            self._progress = None
            self._progress_at = time.monotonic() + PROGRESS_SECONDS

    def _send(self, message: Message) -> None:
        if self._outlet is not None:
            self._outlet.send(message)
