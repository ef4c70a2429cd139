"""The rounds of beat's schedule, numbered and timed by Redis (C3, C6).

An entry of the schedule is sent once a round. Beats take rounds from here, so that several send nothing
twice; workers hand them in, so that messages which piled up are one run. No clock but Redis' own counts.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from provider.jobs.store import keys
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.jobs import JobStore


@dataclass(frozen=True, slots=True)
class Round:
    """The last round of an entry, and the time at which it was read."""

    number: int
    began: datetime | None
    """None without a round, and for one that began in the future: the clock was wrong then, or is now."""
    now: datetime


class Rounds:
    """The rounds of all entries, by their names. Raises StoreUnavailable whenever Redis does not answer."""

    def __init__(self, store: JobStore) -> None:
        self._client = store.client
        self._scripts = store.scripts

    def last(self, entry: str) -> Round:
        """Read the last round of an entry."""
        key = keys.round_of(entry)
        with reaching_redis():
            pipe = node_of(self._client, key).pipeline(transaction=False)
            pipe.hmget(key, "number", "at_ms")
            pipe.time()
            (number, at_ms), (seconds, micros) = pipe.execute()
        now = datetime.fromtimestamp(seconds + micros / 1e6, UTC)
        began = datetime.fromtimestamp(int(at_ms) / 1000, UTC) if at_ms else None
        return Round(int(number or 0), began if began and began <= now else None, now)

    def begin(self, entry: str, after: int) -> int | None:
        """Begin the round that follows one; its number, or None when another beat was first."""
        number = self._scripts("begin_round", [keys.round_of(entry)], [after])
        return None if number is None else int(number)

    def run(self, entry: str, number: int) -> bool:
        """Take the work of a round; False when a run that began after it has done it."""
        return bool(self._scripts("run_round", [keys.round_of(entry)], [number]))
