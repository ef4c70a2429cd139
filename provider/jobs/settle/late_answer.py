"""An answer that is waited for in time, and heard all the same when it comes later (standard §8)."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_LISTENERS = 64
"""Answers of one process that may come late; each takes a thread and a connection while it is waited for."""
_places = threading.BoundedSemaphore(MOST_LISTENERS)


class LateAnswer(Generic[T]):
    """The answer of a call that runs in a thread of its own, which ends with the process.

    `call` is given the seconds that it may take: `at_most`, or only `in_time` when no more may listen.
    """

    def __init__(self, call: Callable[[float], T], *, in_time: float, at_most: float) -> None:
        self._call, self._in_time = call, in_time
        self._listens = _places.acquire(blocking=False)
        self._seconds = max(in_time, at_most) if self._listens else in_time
        self._future: Future[T] = Future()
        threading.Thread(target=self._run, name="settle-answer", daemon=True).start()

    def _run(self) -> None:
        try:
            self._future.set_result(self._call(self._seconds))
        except BaseException as error:
            self._future.set_exception(error)
        finally:
            if self._listens:
                _places.release()

    def in_time(self) -> T | None:
        """Return the answer, or None when it takes too long. Raises what the call raised."""
        try:
            return self._future.result(self._in_time if self._listens else None)
        except TimeoutError:
            if self._future.done():
                raise
            return None

    def later(self, hear: Callable[[T], None]) -> None:
        """Hand the answer over when it comes, in the thread of the call; one that fails is not heard."""

        def done(future: Future[T]) -> None:
            if future.exception() is None:
                hear(future.result())

        self._future.add_done_callback(done)
