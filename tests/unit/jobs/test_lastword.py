"""The last progress of a job (R4)."""

from provider.errors import StoreUnavailable
from provider.jobs.remote.progress_throttle import LastWord, Said
from tests.support.processes import wait_until


def test_the_last_value_is_written_though_redis_was_away_when_it_was_due() -> None:
    """R4: always; nothing may be told after it."""
    written: list[Said] = []
    away = iter([True])

    def write(job_id: str, owner: str, said: Said) -> None:
        if next(away, False):
            raise StoreUnavailable
        written.append(said)

    last = Said({"done": 9}, 1)
    LastWord(write).keep("far.1", "bob", last, 0.01)
    assert wait_until(lambda: written == [last], 5)
