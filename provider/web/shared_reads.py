"""Reads for many threads at once: a thousand streams that are woken together take few trips to Redis."""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from provider.errors import StoreUnavailable

K = TypeVar("K")
V = TypeVar("V")

BATCH = 50
"""Nothing else runs in a process of greenlets while a batch is decoded and encoded: about 10 ms for jobs."""


class SharedReads(Generic[K, V]):
    """One thread reads at a time. Keys that are asked for meanwhile are read together by the next one."""

    def __init__(self, read: Callable[[Sequence[K]], Mapping[K, V]]) -> None:
        self._read = read
        self._reading = threading.Lock()
        self._asked: deque[_Ask[K, V]] = deque()

    def get(self, key: K) -> V | None:
        """Return what was found for a key, as of a moment after this call. Raises StoreUnavailable."""
        ask: _Ask[K, V] = _Ask(key)
        self._asked.append(ask)
        with self._reading:
            while not ask.is_answered:
                self._answer_some()
        if ask.failure is not None:
            raise StoreUnavailable from ask.failure
        return ask.value

    def _answer_some(self) -> None:
        asks = self._taken(BATCH)
        found: Mapping[K, V] = {}
        failure = None
        try:
            found = self._read(list(dict.fromkeys(ask.key for ask in asks)))
        except StoreUnavailable as error:
            # Those behind would only wait for a time-out of their own.
            failure, asks = error, asks + self._taken(len(self._asked))
        finally:
            for ask in asks:
                ask.value, ask.failure, ask.is_answered = found.get(ask.key), failure, True

    def _taken(self, most: int) -> list["_Ask[K, V]"]:
        return [self._asked.popleft() for _ in range(min(most, len(self._asked)))]


@dataclass(slots=True)
class _Ask(Generic[K, V]):
    key: K
    value: V | None = None
    failure: StoreUnavailable | None = None
    is_answered: bool = False
