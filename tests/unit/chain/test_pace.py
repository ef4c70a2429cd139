"""How long ledgers take now, from what an RPC says."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from provider.chain.clock import LedgerClock
from provider.chain.pace import DEFAULT_SECONDS, Pace, read_pace
from provider.chain.rpc import StellarRpc
from provider.errors import RpcError, RpcUnreachable

NOW, LATEST = 1_796_000_000, 1_000_000


class Answers(StellarRpc):
    """An RPC that gives these answers; an error among them is raised."""

    def __init__(self, **answers: Any) -> None:
        super().__init__("http://127.0.0.1:9")
        self._answers = answers
        self.asked: list[tuple[str, Any]] = []

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.asked.append((method, params))
        answer = self._answers[method]
        if isinstance(answer, Exception):
            raise answer
        found: dict[str, Any] = answer
        return found


def health(oldest: int, seconds: float, **changes: Any) -> dict[str, Any]:
    """A week's history at a mean pace; `getHealth` has numbers, older versions strings or nothing."""
    close = {"latestLedgerCloseTime": NOW, "oldestLedgerCloseTime": int(NOW - (LATEST - oldest) * seconds)}
    return {"status": "healthy", "latestLedger": LATEST, "oldestLedger": oldest, **close, **changes}


def event(ledgers_ago: int, seconds_ago: int) -> dict[str, Any]:
    closed = datetime.fromtimestamp(NOW - seconds_ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"events": [{"ledger": LATEST - ledgers_ago, "ledgerClosedAt": closed}]}


NO_EVENT: dict[str, Any] = {"events": []}
WEEK = LATEST - 120_960


@pytest.mark.parametrize(
    ("oldest", "mean", "events", "rounded"),
    [
        (WEEK, 5.012, event(19, 95), 5),
        (WEEK, 5.012, event(19, 96), 6),
        (WEEK, 4.9, event(19, 120), 7),
        (WEEK, 6.3, event(19, 95), 5),
        (WEEK, 5.012, event(12, 60), 5),
        (WEEK, 5.012, event(3, 60), 6),
        (WEEK, 5.012, event(19, 0), 6),
        (WEEK, 5.012, NO_EVENT, 6),
        (WEEK, 4.99, RpcError("getEvents: startLedger must be within the ledger range"), 5),
        (WEEK, 5.0, {"events": [{"ledger": None, "ledgerClosedAt": "soon"}]}, 5),
        (LATEST, 5.0, NO_EVENT, 5),
    ],
)
def test_the_pace_is_that_of_the_last_ledgers_rounded_up(
    oldest: int, mean: float, events: Any, rounded: int
) -> None:
    """As the reference client measures (20 ledgers, `ceil`); red before: 5 s at every pace."""
    rpc = Answers(getHealth=health(oldest, mean), getEvents=events)
    assert (read_pace(rpc).latest_ledger, read_pace(rpc).rounded_up) == (LATEST, rounded)
    assert rpc.asked[1][1]["startLedger"] == LATEST - 19


def test_an_rpc_without_close_times_leaves_the_default() -> None:
    old = {"status": "healthy", "latestLedger": LATEST, "oldestLedger": 5, "latestLedgerCloseTime": ""}
    assert read_pace(Answers(getHealth=old)) == Pace(LATEST, DEFAULT_SECONDS)


def test_an_unhealthy_rpc_still_knows_its_latest_ledger() -> None:
    rpc = Answers(getHealth=RpcError("too far behind"), getLatestLedger={"sequence": 7})
    assert read_pace(rpc) == Pace(7, DEFAULT_SECONDS)


@pytest.mark.parametrize("latest", [None, "7", -1, True, 7.5])
def test_an_rpc_without_a_latest_ledger_is_an_error(latest: Any) -> None:
    with pytest.raises(RpcError):
        read_pace(Answers(getHealth=health(WEEK, 5, latestLedger=latest), getEvents=NO_EVENT))


def test_an_rpc_that_is_away_is_not_asked_again() -> None:
    rpc = Answers(getHealth=RpcUnreachable("x"), getLatestLedger={"sequence": 7})
    with pytest.raises(RpcUnreachable):
        read_pace(rpc)
    assert len(rpc.asked) == 1


@pytest.mark.parametrize("seconds", [30, 60, 300, 7_200, 604_800])
@pytest.mark.parametrize("span", range(86, 125))
def test_what_is_signed_is_accepted_by_the_reference_at_every_pace(seconds: int, span: int) -> None:
    """The reference refuses what is more than `ceil(seconds / its estimate) + 2` ledgers away."""
    rpc = Answers(getHealth=health(WEEK, 5.012), getEvents=event(19, span))
    ledgers = math.ceil(seconds / read_pace(rpc).rounded_up)
    reference = math.ceil(span / 19)
    assert ledgers <= math.ceil(seconds / reference) + 2
    assert ledgers * span / 19 > 0.8 * seconds - 7


class NoCache:
    """Every reading asks anew."""

    def get(self) -> None:
        return None

    def set(self, text: str, seconds: float) -> None:
        """Forget it."""


@pytest.mark.parametrize(("events", "seconds"), [(event(19, 114), 6.0), (NO_EVENT, 5.012)])
def test_the_ledger_clock_takes_the_pace_of_recent_ledgers(events: dict[str, Any], seconds: float) -> None:
    """§10. Red before: it took a week's average, 5.012 s, whatever the last ledgers took."""
    rpc = Answers(getHealth=health(WEEK, 5.012), getEvents=events)
    reading = LedgerClock(rpc, NoCache()).read()
    assert reading is not None
    assert reading.ledger_seconds == pytest.approx(seconds, abs=1e-3)
