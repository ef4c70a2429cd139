"""The last progress of a job (R4)."""

from provider.errors import StoreUnavailable
from provider.jobs.remote.progress_throttle import ProgressThrottle, TimedProgress
from tests.support.processes import wait_until


def test_the_last_value_is_written_though_redis_was_away_when_it_was_due() -> None:
    """R4: always; nothing may be told after it."""
    written: list[TimedProgress] = []
    away = iter([True])

    def write(job_id: str, owner: str, said: TimedProgress) -> None:
        if next(away, False):
            raise StoreUnavailable
        written.append(said)

    last = TimedProgress({"done": 9}, 1)
    ProgressThrottle(write).keep("far.1", "bob", last, 0.01)
    assert wait_until(lambda: written == [last], 5)
