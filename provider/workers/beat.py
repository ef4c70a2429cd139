"""The scheduler of beat: RedBeat's, which waits for a Redis that is away instead of ending (C3, C5).

RedBeat reads its schedule and takes its lock before its first tick, and ends at the first error after that.
Here all of it happens in `tick`, whose caller comes back for as long as beat lives and obeys signals.
"""

import contextlib
from types import SimpleNamespace
from typing import Any, ClassVar

import structlog
from celery.signals import beat_init
from redbeat import schedulers
from redis.exceptions import LockError

from provider.jobs.store.client import REDIS_ERRORS, connect
from provider.settings import Settings

log = structlog.get_logger()

BEAT_WAITS = "beat_waits_for_redis"
WAIT_SECONDS = 1.0

beat_init.disconnect(schedulers.acquire_distributed_beat_lock)


class Scheduler(schedulers.RedBeatScheduler):  # type: ignore[misc]
    """Sends what is due, while it holds the lock."""

    lock: Any
    _maybe_due_kwargs: ClassVar[dict[str, Any]] = {}
    """Publish over the pool's connections: one of its own would stay broken after a broker's restart."""

    def __init__(self, app: Any, **given: Any) -> None:
        settings = Settings.from_env()
        client = connect(settings.redis_url, timeout_seconds=settings.redis_timeout_seconds)
        setattr(app, schedulers.REDBEAT_REDIS_KEY, client)
        super().__init__(app, **given)

    def setup_schedule(self) -> None:
        """Touch nothing yet."""

    def tick(self, **given: Any) -> float:
        """Send what is due; the seconds until the next call."""
        try:
            if self.lock is None:
                self._take_over()
            seconds: float = super().tick(**given)
        except REDIS_ERRORS as error:
            if isinstance(error, LockError):  # It ran out while Redis was away.
                self.lock = None
            log.warning(BEAT_WAITS, error=type(error).__name__)
            return WAIT_SECONDS
        return seconds

    def _take_over(self) -> None:
        """Wait for the lock, and write the schedule down, which a Redis without its file has lost."""
        schedulers.acquire_distributed_beat_lock(SimpleNamespace(scheduler=self))
        super().setup_schedule()

    def close(self) -> None:
        """Give the lock back, if there is somebody to give it to."""
        with contextlib.suppress(*REDIS_ERRORS):
            super().close()
