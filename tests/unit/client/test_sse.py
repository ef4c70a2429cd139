"""Server-sent events, however the connection cuts them."""

import pytest

from provider.client.sse import SseEvent, SseReader

STREAM = (
    b'retry: 3000\n\n: still here\n\nid: 3.2\nevent: status\ndata: {"a": "\xc3\xa9"}\n\n'
    b"data: one\r\ndata:two\r\n\r\nevent: lonely\n\ndata\n\ndata: unfinished"
)
EVENTS = [SseEvent("status", '{"a": "é"}'), SseEvent("message", "one\ntwo"), SseEvent("message", "")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_they_arrive(size: int) -> None:
    reader = SseReader()
    pieces = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert [event for piece in pieces for event in reader.feed(piece)] == EVENTS


def test_an_event_without_an_end_is_given_up() -> None:
    reader = SseReader()
    for _ in range(32):
        assert list(reader.feed(b"x" * 1024 * 1024)) == []
    with pytest.raises(ValueError, match="too large"):
        list(reader.feed(b"x"))
