"""Watching over one handler: renew the lease, pass on progress, end it in time (R1, R2, R4)."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import structlog

from provider.errors import CheckpointRefused, StoreUnavailable
from provider.jobs.model.job import Job, Lease
from provider.jobs.run.framing import Inlet
from provider.jobs.run.handler_process import HandlerProcess
from provider.jobs.run.messages import Checkpoint, End, Failed, Message, Order, Stored, Succeeded
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.lanes import Lanes
from provider.services.progress import PROGRESS_SECONDS, Progress

log = structlog.get_logger()

STOP_GRACE_SECONDS = 1.0
"""Time a handler has to clean up between the word to stop and SIGKILL."""
LOOK_SECONDS = 1.0
"""A cancel, and the loss of a lease, are seen within this time (R7): one read, which costs no fsync."""


@dataclass(frozen=True, slots=True)
class WatchReport:
    """How a watch ended. `job` carries the version to move from."""

    job: Job
    end: End | Succeeded | Failed
    progress: Mapping[str, Any]
    seconds: float


class Supervisor:
    """Watches one handler at a time."""

    def __init__(self, store: JobStore, lanes: Lanes, process: HandlerProcess) -> None:
        self._store = store
        self._lanes = lanes
        self._process = process

    def watch(self, lease: Lease, order: Order, *, stall_seconds: float | None = None) -> WatchReport:
        """Run a handler to its end. Whatever happens, it does not run any more when this returns."""
        watch = _Watch(lease, time.monotonic(), stall_seconds)
        try:
            inlet = self._process.start(order)
            while watch.end is None:
                message = self._next(inlet, watch)
                self._take(message, watch)
                self._look_at_the_clock(watch)
            self._stop_unless_done(inlet, watch)
        except BaseException:
            self._process.kill()
            raise
        return WatchReport(watch.job, watch.end, watch.progress, time.monotonic() - watch.started)

    def _next(self, inlet: Inlet, watch: "_Watch") -> Message | End | None:
        """Wait for a message until something else is due."""
        try:
            message: Message | None = inlet.next(max(0.0, watch.next_due() - time.monotonic()))
        except (EOFError, OSError):
            return End.DIED
        return End.DIED if message is None and self._process.has_died() else message

    def _take(self, message: Message | End | None, watch: "_Watch") -> None:
        match message:
            case Progress():
                watch.note_progress(asdict(message))
            case Checkpoint():
                self._checkpoint(message, watch)
            case Succeeded() | Failed() | End.DIED:
                watch.end = message

    def _checkpoint(self, message: Checkpoint, watch: "_Watch") -> None:
        """Store a checkpoint and answer the waiting handler; retried while Redis is away."""
        while watch.end is None:
            watch.moved_at = time.monotonic()
            try:
                if self._store.checkpoint(watch.job.id, watch.owner, message.unit, message.cursor):
                    self._process.answer(Stored())
                else:
                    watch.end = End.LOST
                return
            except CheckpointRefused as error:
                self._process.answer(Stored(error.detail))
                return
            except StoreUnavailable:
                time.sleep(0.2)
                self._look_at_the_clock(watch)

    def _look_at_the_clock(self, watch: "_Watch") -> None:
        now = time.monotonic()
        if watch.end is not None:
            return
        if now >= watch.ends_at:
            watch.end = End.TIMED_OUT
        elif watch.is_stalled(now):
            watch.end = End.STALLED
        elif now >= min(watch.renew_at, watch.write_progress_at):
            self._renew(watch, now)
        elif now >= watch.look_at:
            self._look(watch, now)

    def _look(self, watch: "_Watch", now: float) -> None:
        """See a cancel long before the next renewal; while Redis is away, that one decides."""
        watch.look_at = now + LOOK_SECONDS
        with suppress(StoreUnavailable):
            cancel = self._lanes.look(watch.job.id, watch.owner)
            if cancel is not False:
                watch.end = End.LOST if cancel is None else End.CANCELLED

    def _renew(self, watch: "_Watch", now: float) -> None:
        progress = watch.progress if watch.write_progress_at <= now else None
        try:
            renewed = self._lanes.renew(
                watch.job.id, watch.owner, lease_seconds=watch.lease_seconds, progress=progress
            )
        except StoreUnavailable:  # The lease is ours until it runs out by our own clock.
            watch.renew_at = watch.write_progress_at = now + 0.5
            watch.end = End.LOST if now >= watch.lease_ends_at else None
            return
        if renewed is None:
            watch.end = End.LOST
            return
        version, cancel = renewed
        watch.renewed(version, now, wrote_progress=progress is not None)
        watch.end = End.CANCELLED if cancel else None

    def _stop_unless_done(self, inlet: Inlet, watch: "_Watch") -> None:
        """Leave a handler that ended by itself alone; ask any other to stop, then kill it."""
        if isinstance(watch.end, Succeeded | Failed):
            return
        self._process.stop()
        ends_at = time.monotonic() + STOP_GRACE_SECONDS
        try:
            while (left := ends_at - time.monotonic()) > 0:
                if isinstance(inlet.next(left), Succeeded | Failed):
                    return
        except (EOFError, OSError):
            pass
        self._process.kill()


class _Watch:
    """The clocks of one watch, on this process's monotonic clock."""

    def __init__(self, lease: Lease, started: float, stall_seconds: float | None) -> None:
        self.job = lease.job
        self.owner = lease.owner
        self.lease_seconds = lease.lease_seconds
        self.started = started
        self.ends_at = started + lease.budget_seconds
        self.lease_ends_at = started + lease.lease_seconds
        self.renew_at = started + lease.lease_seconds / 3
        self.look_at = started + LOOK_SECONDS
        self.write_progress_at = float("inf")
        self.moved_at = started
        self.stall_seconds = stall_seconds
        self.progress: dict[str, Any] = dict(lease.job.progress)
        self._wrote_at = float("-inf")
        self.end: End | Succeeded | Failed | None = None

    def next_due(self) -> float:
        stalls_at = float("inf") if self.stall_seconds is None else self.moved_at + self.stall_seconds
        return min(self.ends_at, self.renew_at, self.write_progress_at, self.look_at, stalls_at)

    def is_stalled(self, now: float) -> bool:
        return self.stall_seconds is not None and now >= self.moved_at + self.stall_seconds

    def note_progress(self, progress: dict[str, Any]) -> None:
        self.progress = {name: value for name, value in progress.items() if value is not None}
        self.moved_at = time.monotonic()
        self.write_progress_at = max(self.moved_at, self._wrote_at + PROGRESS_SECONDS)

    def renewed(self, version: int, now: float, *, wrote_progress: bool) -> None:
        self.job = replace(self.job, version=version)
        self.lease_ends_at = now + self.lease_seconds
        self.renew_at = now + self.lease_seconds / 3
        self.look_at = now + LOOK_SECONDS
        if wrote_progress:
            self._wrote_at, self.write_progress_at = now, float("inf")
