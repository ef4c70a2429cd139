"""Threads that ask together share a read (`provider.web.shared_reads`)."""

import threading
from collections.abc import Mapping, Sequence

from provider.errors import StoreUnavailable
from provider.web import shared_reads
from provider.web.shared_reads import SharedReads
from tests.support.racing import race


class Source:
    """Squares numbers, one batch at a time, and notes the batches."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.fails: Exception | None = None
        self.begun, self.go = threading.Event(), threading.Event()
        self.go.set()

    def read(self, keys: Sequence[int]) -> Mapping[int, int]:
        self.batches.append(list(keys))
        self.begun.set()
        self.go.wait(10)
        if self.fails is not None:
            raise self.fails
        return {key: key * key for key in keys if key < 1000}


def test_each_thread_gets_what_it_asked_for() -> None:
    """Twenty rounds of threads that ask for the same few keys at once; no key is read twice in a batch."""
    source = Source()
    reads = SharedReads(source.read)
    for _ in range(20):
        assert race(16, lambda number: reads.get(number % 8)) == [n * n for n in range(8)] * 2
    assert all(len(set(batch)) == len(batch) for batch in source.batches)
    assert reads.get(5000) is None


def behind_a_slow_read(source: Source, reads: SharedReads[int, int], count: int) -> list[object]:
    """Have threads ask while the first one reads, then let it go on."""
    source.go.clear()
    first = threading.Thread(target=lambda: race(1, lambda _: reads.get(0)))
    first.start()
    source.begun.wait(10)
    opener = threading.Timer(0.5, source.go.set)
    opener.start()
    found = race(count, reads.get)
    first.join()
    return list(found)


def test_those_that_come_while_another_reads_are_read_for_together() -> None:
    """In batches, between which others have their turn."""
    source = Source()
    found = behind_a_slow_read(source, SharedReads(source.read), 120)
    assert found == [n * n for n in range(120)]
    assert max(map(len, source.batches)) <= shared_reads.BATCH
    assert len(source.batches) <= 5


def test_when_the_store_is_away_nothing_waits_for_the_time_out_of_others() -> None:
    """One read fails for all that have asked by then; a later one is tried again."""
    source = Source()
    source.fails = StoreUnavailable()
    reads = SharedReads(source.read)
    found = behind_a_slow_read(source, reads, 120)
    assert {type(answer) for answer in found} == {StoreUnavailable}
    assert len(source.batches) <= 2
    source.fails = None
    assert reads.get(3) == 9


def test_a_fault_of_a_read_blocks_no_later_one() -> None:
    """The thread that read has the error; those of its batch get nothing, and may ask again."""
    source = Source()
    source.fails = ZeroDivisionError()
    reads = SharedReads(source.read)
    found = behind_a_slow_read(source, reads, 20)
    assert {type(answer) for answer in found} <= {ZeroDivisionError, type(None)}
    source.fails = None
    assert reads.get(3) == 9
