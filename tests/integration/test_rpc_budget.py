"""A Stellar RPC that is slow, or says too much, costs a bounded time and holds up no other caller."""

import threading
import time
from dataclasses import dataclass, field

import pytest

from provider.chain import rpc as chain_rpc
from provider.chain.clock import LedgerClock
from provider.chain.rpc import StellarRpc
from provider.errors import RpcUnreachable
from tests.support.racing import race
from tests.support.raw_http import Behave, answer, drip, flood, raw_server, silence

HEALTH = {"jsonrpc": "2.0", "id": 1, "result": {"latestLedger": 9, "oldestLedger": 1}}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"
SLOW = {
    "says nothing": silence,
    "drips its head": drip(HEAD, 0.1),
    "drips its body": drip(b"{" * 1000, 0.1, before=HEAD),
}


@pytest.mark.parametrize("behave", SLOW.values(), ids=SLOW)
def test_an_rpc_that_is_slow_is_given_up(behave: Behave) -> None:
    """Red for those that drip: each read had the whole time-out again, and the call had no end."""
    with raw_server(behave) as server:
        began = time.monotonic()
        with pytest.raises(RpcUnreachable):
            StellarRpc(server.url, timeout_seconds=0.3).health()
        assert time.monotonic() - began < 3


def test_an_rpc_that_says_too_much_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red: whatever it sent was kept in memory."""
    monkeypatch.setattr(chain_rpc, "MAX_ANSWER_BYTES", 1_000_000)
    with raw_server(flood(HEAD, b" " * 1000)) as server, pytest.raises(RpcUnreachable):
        StellarRpc(server.url, timeout_seconds=10).health()


def test_threads_share_the_connections_to_an_rpc() -> None:
    """A greenlet a request would otherwise mean a connection, and a TLS handshake, a request."""
    with raw_server(answer(200, HEALTH)) as server:
        rpc = StellarRpc(server.url)
        for _ in range(20):
            assert [health.latest_ledger for health in race(4, lambda _: rpc.health())] == [9] * 4  # type: ignore[union-attr]
        assert server.connections <= 8


@dataclass
class Memory:
    """A cache of the clock that is as good as Redis."""

    text: str | None = None
    writes: list[str] = field(default_factory=list)

    def get(self) -> str | None:
        return self.text

    def set(self, text: str, seconds: float) -> None:
        self.text = text
        self.writes.append(text)


def test_one_caller_asks_a_slow_rpc_and_the_others_wait_for_it() -> None:
    """Red while each paid call asked for itself: as many connections as calls, each for its own time-out."""
    go = threading.Event()

    def behave(connection: object) -> None:
        go.wait(10)
        answer(200, HEALTH)(connection)  # type: ignore[arg-type]

    with raw_server(behave) as server:
        clock = LedgerClock(StellarRpc(server.url), Memory())
        threading.Timer(0.5, go.set).start()
        read = race(20, lambda _: clock.read())
        assert {reading.latest_ledger for reading in read} == {9}  # type: ignore[union-attr]
        assert len(server.requests) == 1


def test_an_rpc_that_is_away_is_asked_once_by_all_who_wait() -> None:
    """That it cannot tell is an answer too."""
    with raw_server(silence) as server:
        clock = LedgerClock(StellarRpc(server.url, timeout_seconds=0.3), Memory())
        assert race(20, lambda _: clock.read()) == [None] * 20
        assert len(server.requests) == 1
