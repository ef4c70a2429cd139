"""The scheduler of beat: Celery's, by the rounds and the clock of Redis (C3, C5, C6).

Whether an entry is due is Celery's to say, for intervals and crontabs alike; when its last round began, and
what time it is, is read from Redis at each look. So several beats send nothing twice, none waits for another
one to die, and their own clocks count for nothing.
"""

from typing import Any

import structlog
from celery.beat import ScheduleEntry
from celery.beat import Scheduler as CeleryScheduler

from provider.broker.queues import ROUND
from provider.errors import StoreError
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.rounds import Rounds
from provider.settings import Settings

log = structlog.get_logger()

BEAT_WAITS = "beat_waits_for_redis"
WAIT_SECONDS = 1.0


class Scheduler(CeleryScheduler):  # type: ignore[misc]
    """Sends what is due, unless another beat did."""

    def __init__(self, app: Any, **given: Any) -> None:
        settings = Settings.from_env()
        settings = Settings.from_env()
        client = connect(settings.redis_url, timeout_seconds=settings.redis_timeout_seconds)
        self._rounds = Rounds(JobStore(client))
        super().__init__(app, **given)

    def tick(self, **_: Any) -> float:
        """Send what is due; the seconds until the next call."""
        try:
            waits = [self._look(entry) for entry in list(self.schedule.values())]
        except StoreError as error:
            log.warning(BEAT_WAITS, error=type(error.__cause__).__name__)
            return WAIT_SECONDS
        return min([float(self.max_interval), *waits])

    def _look(self, entry: ScheduleEntry) -> float:
        """Send an entry if it is due; the seconds until the next look.

        An entry without a round is due one interval from now, as with Celery's own scheduler.
        """
        last, zone = self._rounds.last(entry.name), self.app.timezone
        if last.began is None:
            self._rounds.begin(entry.name, last.number)
            return 0.0
        entry.schedule.nowfun = lambda: last.now.astimezone(zone)
        due, seconds = entry.schedule.is_due(last.began.astimezone(zone))
        if due:
            number = self._rounds.begin(entry.name, last.number)
            if number is None:  # Another beat was first.
                return 0.0
            self._send(entry, number)
        return float(seconds)

    def _send(self, entry: ScheduleEntry, number: int) -> None:
        """Publish over the pool's connections: one of beat's own stays broken after a broker's restart."""
        headers = {**entry.options.get("headers", {}), ROUND: number}
        entry.options = {**entry.options, "headers": headers}
        self.apply_entry(entry)
