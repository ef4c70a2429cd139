"""What is written to one client of an event stream, whatever its feed (`provider.web.streams.stream`)."""

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from flask import Flask

from provider.errors import StoreUnavailable, StreamsFull
from provider.jobs.store import keys
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.subscription import JobEvents, Waiter
from provider.web.streams import places, stream
from provider.web.streams.places import Places
from provider.web.streams.stream import NEVER, News, event_stream, frame
from tests.support.processes import wait_until
from tests.support.waiting import subscribe

JOB = "echo." + "0" * 32
OTHER = "echo." + "1" * 32


@dataclass
class Script:
    """A feed that says what a test wants, each time it is asked."""

    says: Callable[[int], News] = lambda nth: News([b"%d." % nth])
    waiter: Waiter = field(default_factory=lambda: Waiter(JOB))
    every_seconds: float = NEVER
    patience_seconds: float = NEVER
    times: int = 0

    def news(self) -> News:
        self.times += 1
        return self.says(self.times)


@dataclass
class Process:
    """What the streams of a web process share, over a real Redis."""

    store: JobStore
    events: JobEvents
    places: Places = field(default_factory=lambda: Places(10_000))
    pages: Flask = field(default_factory=lambda: Flask("test"))

    def open(self, feed: Script, sock: socket.socket | None = None) -> Callable[[str], str]:
        """Serve a stream in a thread; returns what reads it up to some text."""
        with self.pages.test_request_context(environ_overrides={"gunicorn.socket": sock}):
            answer = event_stream(self.places, self.events, feed)
        heard: queue.SimpleQueue[bytes] = queue.SimpleQueue()

        def run() -> None:
            for piece in answer.iter_encoded():
                heard.put(piece)
            heard.put(b"(over)")

        threading.Thread(target=run, daemon=True).start()

        def read_until(end: str) -> str:
            text = ""
            while not text.endswith(end):
                text += heard.get(timeout=10).decode()
            return text

        assert read_until("\n\n") == "retry: 3000\n\n"
        return read_until

    def publish(self, word: str = "running", job_id: str = JOB) -> None:
        self.store.client.publish(keys.job(job_id), word)


@pytest.fixture
def process(redis_url: str) -> Iterator[Process]:
    """Have a process that hears, and stop it in the end."""
    store = JobStore(connect(redis_url))
    process = Process(store, JobEvents(store))
    subscribe(process.events, store)
    yield process
    process.events.stop()
    assert wait_until(lambda: len(process.places) == 0)


def test_a_stream_tells_what_is_new_until_its_feed_ends(process: Process) -> None:
    """Its place is free afterwards."""
    read = process.open(Script(lambda nth: News([b"%d." % nth], ends=nth == 2)))
    assert read("1.") == "1."
    assert len(process.places) == 1
    process.publish()
    assert read("(over)") == "2.(over)"
    assert wait_until(lambda: len(process.places) == 0)


def test_a_change_that_is_not_urgent_is_told_later(process: Process) -> None:
    """Many of them cost one read; one that is urgent ends the patience."""
    feed = Script(waiter=Waiter(JOB, ["echo"]), patience_seconds=1.0)
    read = process.open(feed)
    read("1.")
    for _ in range(5):
        process.publish("queued", OTHER)
    assert not wait_until(lambda: feed.times > 1, 0.5)
    read("2.")
    process.publish("queued", OTHER)
    process.publish()
    read("3.")
    assert feed.times == 3


def test_a_quiet_stream_is_kept_alive(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would close it, and a client could not see whether the server is there."""
    monkeypatch.setattr(stream, "BEAT_SECONDS", 0.2)
    read = process.open(Script())
    assert read(": still here\n\n") == "1.: still here\n\n"
    assert read(": still here\n\n") == ": still here\n\n"


def test_a_feed_is_asked_again_in_its_own_rhythm(process: Process) -> None:
    """Without anything having happened."""
    assert process.open(Script(every_seconds=0.1))("3.") == "1.2.3."


def test_while_redis_is_away_a_stream_waits(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked again a little later, and misses nothing; its client still hears that it lives."""
    monkeypatch.setattr(stream, "AGAIN_SECONDS", 0.3)
    monkeypatch.setattr(stream, "BEAT_SECONDS", 0.1)

    def says(nth: int) -> News:
        if nth < 3:
            raise StoreUnavailable
        return News([b"back"], ends=True)

    assert ": still here" in process.open(Script(says))("back")


def test_a_fault_of_one_feed_ends_its_stream_alone(process: Process) -> None:
    """Its client comes back; others go on."""

    def breaks(nth: int) -> News:
        raise ZeroDivisionError

    broken, sound = process.open(Script(breaks)), process.open(Script())
    assert broken("(over)") == "(over)"
    sound("1.")
    process.publish()
    assert sound("2.") == "2."


def test_a_client_that_closed_is_noticed_at_the_next_comment(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first write to it would succeed. One that only sends more than its request is there."""
    monkeypatch.setattr(stream, "BEAT_SECONDS", 0.3)
    near, far = socket.socketpair()
    with near:
        with far:
            read = process.open(Script(), near)
            far.sendall(b"GET /")
            assert read(": still here\n\n") == "1.: still here\n\n"
            near.recv(100)
        assert read("(over)") == "(over)"


def test_a_stopping_process_sends_all_clients_away(process: Process) -> None:
    """With a time to come back, not the same for all; new ones too."""
    reads = [process.open(Script(waiter=Waiter(f"echo.{n:032}"))) for n in range(20)]
    for read in reads:
        read("1.")
    process.events.stop()
    goodbyes = {read("(over)") for read in reads}
    assert len(goodbyes) > 10
    assert all(text.startswith("retry: ") for text in goodbyes)
    assert process.open(Script())("(over)").startswith("retry: ")


def test_one_job_has_no_more_than_fifty_streams(process: Process) -> None:
    """Each is written a copy of what the job shows; other jobs are followed all the same."""
    reads = [process.open(Script()) for _ in range(places.MOST_A_JOB)]
    for read in reads:
        read("1.")
    with pytest.raises(StreamsFull):
        process.open(Script())
    process.open(Script(waiter=Waiter(OTHER)))("1.")


def test_a_large_event_is_cut_into_pieces() -> None:
    """A client that takes its time holds a copy of one piece, not of the whole."""
    text = b'"' + b"x" * 1_000_000 + b'"'
    pieces = list(frame("status", text, "7"))
    assert b"".join(pieces) == b"id: 7\nevent: status\ndata: " + text + b"\n\n"
    assert max(map(len, pieces)) <= stream.PIECE_BYTES
    assert len(list(frame("status", b"{}"))) == 1
