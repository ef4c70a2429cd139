"""Server-sent events, read from whatever pieces of bytes a connection gives."""

from collections.abc import Iterator
from dataclasses import dataclass

MOST_BYTES = 32 * 1024 * 1024
"""Of one event: the last one carries the output of the job."""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event; `data` is its lines, joined."""

    name: str
    data: str


class SseReader:
    """Splits a stream into its events. Raises ValueError when one is too large."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._name, self._data, self._size = "", list[str](), 0

    def feed(self, piece: bytes) -> Iterator[SseEvent]:
        """Give the events that are complete with this piece of the stream."""
        self._rest += piece
        if len(self._rest) + self._size > MOST_BYTES:
            raise ValueError("an event is too large")
        if b"\n" not in piece:
            return
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            if (event := self._take(line.rstrip(b"\r").decode("utf-8", "replace"))) is not None:
                yield event

    def _take(self, line: str) -> SseEvent | None:
        if not line:
            return self._end()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
            self._size += len(value)
        return None

    def _end(self) -> SseEvent | None:
        event = SseEvent(self._name or "message", "\n".join(self._data)) if self._data else None
        self._name, self._data, self._size = "", [], 0
        return event
