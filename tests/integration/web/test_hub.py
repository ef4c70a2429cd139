"""The hub: one thread, many clients, none of whom can hold up another."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from provider.errors import StoreUnavailable
from provider.jobs.store import keys
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.jobs.store.subscription import JobEvents
from provider.web import guests, hub
from provider.web.guests import Guest, Held, Listener
from provider.web.hub import Hub
from provider.web.streams.stream import Feed, News
from tests.support.hub import subscribe
from tests.support.processes import wait_until

JOB = "echo." + "0" * 32
OTHER = "echo." + "1" * 32


@dataclass
class Script:
    """A source that says what a test wants, and notes who was asked for."""

    says: Callable[[int], News] = lambda nth: News(b"first" if nth == 1 else b"")
    asked: list[Sequence[Feed]] = field(default_factory=list)
    times: dict[Feed, int] = field(default_factory=dict)

    def news(self, feeds: Sequence[Feed]) -> list[News]:
        self.asked.append(feeds)
        for feed in feeds:
            self.times[feed] = self.times.get(feed, 0) + 1
        return [self.says(self.times[feed]) for feed in feeds]


@dataclass
class Client:
    """The far end of a guest's socket."""

    guest: Guest
    sock: socket.socket
    left: threading.Event

    def read_until(self, end: bytes) -> bytes:
        data = b""
        while not data.endswith(end):
            more = self.sock.recv(65536)
            assert more, data
            data += more
        return data


@dataclass
class House:
    """A hub over a real Redis."""

    hub: Hub
    store: JobStore
    near: list[socket.socket] = field(default_factory=list)
    far: list[socket.socket] = field(default_factory=list)

    def let_in(
        self, source: Script, topic: str = JOB, *, kind: type = Listener, every: float = 1e9, **more
    ) -> Client:  # type: ignore[no-untyped-def]
        near, far = socket.socketpair()
        far.settimeout(10)
        self.near.append(near)
        self.far.append(far)
        left = threading.Event()
        guest = kind(source, Feed(frozenset({topic}), every), leave=left.set, sock=near, **more)
        self.hub.add(guest)
        return Client(guest, far, left)

    def publish(self, word: str = "running", job_id: str = JOB) -> None:
        self.store.client.publish(keys.job(job_id), word)


@pytest.fixture
def house(redis_url: str) -> Iterator[House]:
    """Open a hub for ten thousand."""
    store = JobStore(connect(redis_url))
    house = House(Hub(JobEvents(store), most=10_000), store)
    subscribe(house.hub, store)
    yield house
    house.hub.stop()
    for end in house.far:
        end.close()
    assert wait_until(lambda: len(house.hub) == 0)
    for end in house.near:
        end.close()


def test_news_is_read_once_for_all_who_follow(house: House) -> None:
    """A thousand clients of one job cost a handful of reads."""
    script = Script(lambda nth: News(b"x") if nth == 1 else News(b"y", ends=True))
    clients = [house.let_in(script) for _ in range(200)]
    for client in clients:
        assert client.read_until(b"\r\n") == b"1\r\nx\r\n"
    reads = len(script.asked)
    house.publish()
    for client in clients:
        assert client.read_until(b"0\r\n\r\n") == b"1\r\ny\r\n0\r\n\r\n"
        assert client.left.wait(5)
    assert reads + len(script.asked) <= 40
    assert len(house.hub) == 0


def test_who_follows_a_service_hears_of_its_jobs_but_not_of_their_progress(house: House) -> None:
    """Progress is the most frequent message, and no news for a lane."""
    script = Script(lambda nth: News(b"%d" % nth))
    lane, job = house.let_in(script, "echo"), house.let_in(script)
    for client in (lane, job):
        client.read_until(b"1\r\n1\r\n")
    house.publish("progress")
    assert job.read_until(b"\r\n2\r\n")
    assert script.times[lane.guest.feed] == 1
    house.publish("queued", OTHER)
    assert lane.read_until(b"\r\n2\r\n")


def test_a_client_that_takes_nothing_is_dropped_and_holds_up_nobody(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it is sent is bounded by one piece of news; it is not even asked for meanwhile."""
    monkeypatch.setattr(guests, "UNTAKEN_SECONDS", 1.0)
    big, began = Script(lambda nth: News(b"z" * 4_000_000)), time.monotonic()
    slow, quick = house.let_in(big), house.let_in(Script(lambda nth: News(b"%d" % nth)))
    quick.read_until(b"1\r\n1\r\n")
    for round_ in range(2, 5):
        house.publish()
        quick.read_until(b"\r\n%d\r\n" % round_)
    assert big.times[slow.guest.feed] == 1
    assert slow.left.wait(10)
    assert time.monotonic() - began >= 1.0
    assert not quick.left.is_set()


def test_a_client_that_went_is_let_go(house: House) -> None:
    """At once, and not when the next thing is written to it."""
    client = house.let_in(Script())
    client.read_until(b"first\r\n")
    client.sock.close()
    assert client.left.wait(5)


def test_a_client_that_says_more_is_not_listened_to(house: House) -> None:
    """Its bytes would wake the hub for ever; its stream goes on."""
    client = house.let_in(Script(lambda nth: News(b"%d" % nth)))
    client.sock.sendall(b"GET / HTTP/1.1\r\n")
    assert wait_until(lambda: client.guest.is_deaf, 5)
    house.publish()
    assert client.read_until(b"\r\n2\r\n")


def test_a_quiet_stream_is_kept_alive(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would close it, and a client could not tell whether anybody is there."""
    monkeypatch.setattr(guests, "BEAT_SECONDS", 0.2)
    client = house.let_in(Script())
    assert client.read_until(b": still here\n\n\r\n")
    assert client.read_until(b": still here\n\n\r\n")


def test_a_feed_is_asked_for_again_in_its_own_rhythm(house: House) -> None:
    """Without anything having happened."""
    client = house.let_in(Script(lambda nth: News(b"%d" % nth)), every=0.1)
    assert client.read_until(b"\r\n3\r\n")


def test_while_redis_is_away_streams_wait(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked for again a little later, and miss nothing."""
    monkeypatch.setattr(hub, "AGAIN_SECONDS", 0.1)

    def says(nth: int) -> News:
        if nth < 3:
            raise StoreUnavailable
        return News(b"back", ends=True)

    client = house.let_in(Script(says))
    assert client.read_until(b"0\r\n\r\n") == b"4\r\nback\r\n0\r\n\r\n"


def test_a_fault_of_one_source_ends_its_streams_alone(house: House) -> None:
    """Their clients come back; the thread lives on for all others."""

    def breaks(nth: int) -> News:
        raise ZeroDivisionError

    broken, sound = house.let_in(Script(breaks)), house.let_in(Script())
    assert broken.left.wait(5)
    assert sound.read_until(b"first\r\n")


def test_a_held_answer_goes_when_it_is_due_or_its_time_is_over(house: House) -> None:
    """Nothing is written to its client, who gets an answer from a thread."""
    due = house.let_in(Script(lambda nth: News(ends=nth == 2)), kind=Held)
    late = house.let_in(Script(lambda nth: News()), OTHER, kind=Held, until=0.0)
    assert late.left.wait(5)
    assert not due.left.is_set()
    house.publish()
    assert due.left.wait(5)
    due.sock.setblocking(False)
    with pytest.raises(BlockingIOError):
        due.sock.recv(1)


def test_a_stream_without_chunks_ends_with_its_connection(house: House) -> None:
    """As HTTP/1.0 has it."""
    client = house.let_in(Script(lambda nth: News(b"all", ends=True)), chunked=False)
    assert client.read_until(b"all") == b"all"
    assert client.left.wait(5)


def test_a_stopped_hub_sends_everybody_away_and_takes_nobody_in(house: House) -> None:
    """With a time to come back, not the same for all."""
    clients = [house.let_in(Script()) for _ in range(20)]
    for client in clients:
        client.read_until(b"first\r\n")
    house.hub.stop()
    goodbyes = {client.read_until(b"0\r\n\r\n") for client in clients}
    assert len(goodbyes) > 10
    assert all(b"retry: " in text for text in goodbyes)
    assert house.let_in(Script()).read_until(b"0\r\n\r\n").count(b"retry: ") == 1


def test_a_message_that_nobody_understands_ends_no_subscription(house: House) -> None:
    """Whoever reaches Redis can publish anything."""
    client = house.let_in(Script(lambda nth: News(b"%d" % nth)))
    client.read_until(b"\r\n1\r\n")
    house.store.client.publish("provider:a:job:b:c", "?")
    told = client.guest.asked_at
    assert wait_until(lambda: house.publish() or client.guest.asked_at > told, 10)


def test_what_changes_while_redis_reconnects_is_told_afterwards(house: House) -> None:
    """A lost subscription loses messages; everybody is asked for once it is back."""
    client = house.let_in(Script(lambda nth: News(b"%d" % nth)))
    client.read_until(b"\r\n1\r\n")
    told = client.guest.asked_at
    house.store.client.client_kill_filter(_type="pubsub")
    assert wait_until(lambda: client.guest.asked_at > told, 10)
