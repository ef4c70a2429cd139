"""Races with a start line: everybody waits until all are there."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def race(count: int, run: Callable[[int], T]) -> list[T | Exception]:
    """Call `run(0)` to `run(count - 1)` at once in threads; results or errors in the order of the numbers."""
    line = threading.Barrier(count)

    def start(number: int) -> T | Exception:
        line.wait()
        try:
            return run(number)
        except Exception as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


def race_rounds(count: int, rounds: int, prepare: Callable[[], T], run: Callable[[T, int], object]) -> None:
    """Race for something new in each round, with the same threads; `run` keeps what it wants to tell."""
    made: list[T] = []
    line = threading.Barrier(count, action=lambda: made.append(prepare()))

    def keep_racing(number: int) -> None:
        try:
            for _ in range(rounds):
                line.wait()
                run(made[-1], number)
        except BaseException:
            line.abort()  # Nobody waits for one who does not come.
            raise

    with ThreadPoolExecutor(count) as pool:
        racers = [pool.submit(keep_racing, number) for number in range(count)]
    errors = [error for racer in racers if (error := racer.exception())]
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error
