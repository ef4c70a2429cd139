"""The RPC client believes no answer that lacks what was asked for: "nothing found" would mean "not paid"."""

from collections.abc import Callable
from typing import Any

import pytest

from provider.chain.rpc import StellarRpc
from provider.errors import RpcError

KEY = "AAAA"
ENTRY = {"key": KEY, "xdr": "x", "lastModifiedLedgerSeq": 5, "liveUntilLedgerSeq": 9}
EVENT = {"ledger": 5, "contractId": "C", "txHash": "h", "topic": ["t"], "value": "v"}
PAGE = {"cursor": "1-2", "oldestLedger": 1, "latestLedger": 9}
FOUND = {"status": "SUCCESS", "ledger": 5, "envelopeXdr": "e", "txHash": "h"}


def answering(result: dict[str, Any]) -> StellarRpc:
    """An RPC whose every answer is this; the network is the outside world."""
    rpc = StellarRpc("http://127.0.0.1:9")
    rpc.call = lambda method, params=None: result  # type: ignore[method-assign]
    return rpc


def entries(rpc: StellarRpc) -> Any:
    return rpc.ledger_entries([KEY])


def events(rpc: StellarRpc) -> Any:
    return rpc.events([], first=1, last=2)


def transaction(rpc: StellarRpc) -> Any:
    return rpc.transaction("ab" * 32)


def transactions(rpc: StellarRpc) -> Any:
    return rpc.transactions(1)


@pytest.mark.parametrize(
    ("ask", "result"),
    [
        (entries, {}),
        (entries, {"latestLedger": 9}),
        (entries, {"entries": []}),
        (entries, {"entries": [], "latestLedger": "9"}),
        (entries, {"entries": [], "latestLedger": True}),
        (entries, {"entries": [{**ENTRY, "key": "BBBB"}], "latestLedger": 9}),
        (entries, {"entries": [{"key": KEY, "xdr": "x"}], "latestLedger": 9}),
        (entries, {"entries": ["x"], "latestLedger": 9}),
        (events, {"events": []}),
        (events, {**PAGE}),
        (events, {**PAGE, "events": [{"ledger": 5}]}),
        (events, {"events": [], "oldestLedger": 1, "latestLedger": 9}),
        (transaction, {}),
        (transaction, {"status": "SUCCESS", "ledger": 5}),
        (transaction, {"status": "SUCCESS", "envelopeXdr": "e"}),
        (transactions, {**PAGE}),
        (transactions, {**PAGE, "transactions": [{"status": "SUCCESS"}]}),
        (StellarRpc.passphrase, {}),
    ],
)
def test_an_answer_that_lacks_something_is_an_error(
    ask: Callable[[StellarRpc], Any], result: dict[str, Any]
) -> None:
    with pytest.raises(RpcError):
        ask(answering(result))


def test_entries_are_read() -> None:
    found = entries(answering({"entries": [ENTRY], "latestLedger": 9}))
    entry = found.found[KEY]
    assert (found.latest_ledger, entry.modified_ledger, entry.live_until_ledger) == (9, 5, 9)


def test_no_entries_may_be_null() -> None:
    """Go writes an empty list so."""
    assert entries(answering({"entries": None, "latestLedger": 9})).found == {}


def test_a_transaction_that_is_not_found_has_no_ledger() -> None:
    found = transaction(answering({"status": "NOT_FOUND", "latestLedger": 9}))
    assert (found.ledger, found.hash) == (None, "ab" * 32)


def test_pages_are_read() -> None:
    page = events(answering({**PAGE, "events": [EVENT]}))
    assert (page.items[0].transaction, page.items[0].topics, page.cursor) == ("h", ("t",), "1-2")
    assert transactions(answering({**PAGE, "transactions": [FOUND]})).items[0].hash == "h"


def test_a_range_and_a_cursor_are_never_sent_together() -> None:
    """An RPC refuses that."""
    sent: list[dict[str, Any]] = []
    rpc = StellarRpc("http://127.0.0.1:9")
    rpc.call = lambda method, params=None: sent.append(params) or {**PAGE, "events": []}  # type: ignore
    rpc.events([], first=3, last=7, limit=10)
    rpc.events([], first=3, last=7, cursor="1-2", limit=10)
    assert sent[0] == {"startLedger": 3, "endLedger": 8, "filters": [], "pagination": {"limit": 10}}
    assert sent[1] == {"filters": [], "pagination": {"cursor": "1-2", "limit": 10}}


@pytest.mark.parametrize("name", ["latestLedger", "oldestLedger", "latestLedgerCloseTime"])
@pytest.mark.parametrize("value", [None, [], {}, "soon", True, -5])
def test_a_malformed_field_is_an_error_of_the_rpc(name: str, value: Any) -> None:
    """Red before: `latestLedger: null` was a TypeError, and failed calls and sweeps (issue 10.7)."""
    rpc = answering({"latestLedger": 9, "oldestLedger": 1, "latestLedgerCloseTime": "7", name: value})
    if (name, value) == ("latestLedgerCloseTime", None):
        assert rpc.health().latest_close_time is None
        return
    with pytest.raises(RpcError):
        rpc.health()
