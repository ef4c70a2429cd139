"""getTransactions page by page, and the errors that say nothing about the ledgers asked for."""

from typing import Any

import pytest

from provider.localnet.chain.errors import JsonRpcError
from tests.unit.localnet.support import Town
from tests.unit.localnet.test_chain_entries import ARCHIVAL


def listed(town: Town, start: int = 0, **pagination: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"startLedger": start} if start else {}
    return town.rpc.call("getTransactions", given | {"pagination": pagination})


def error(town: Town, method: str, params: dict[str, Any]) -> tuple[int, str]:
    with pytest.raises(JsonRpcError) as caught:
        town.rpc.call(method, params)
    return caught.value.code, str(caught.value)


def test_the_time_of_a_transaction_is_a_number_in_a_list_alone(town: Town) -> None:
    """A bug that Stellar RPC keeps. Was red: the number was text in both."""
    paid = town.pay()
    (item,) = listed(town, town.ledger)["transactions"]
    assert type(item["createdAt"]) is int
    assert town.get(paid)["createdAt"] == str(item["createdAt"])


def test_an_unknown_transaction_has_zeros_for_what_is_not_known(town: Town) -> None:
    """Was red: the chain left these out."""
    reply = town.get("0" * 64)
    assert (reply["ledger"], reply["createdAt"], reply["applicationOrder"]) == (0, "0", 0)


def test_a_page_ends_with_the_cursor_of_its_last_transaction(town: Town) -> None:
    """A TOID whose operation is 1. Was red: it was 0."""
    hashes = [town.pay() for _ in range(3)]
    page = listed(town, 1_000_000, limit=2)
    cursor = int(page["cursor"])
    assert (cursor >> 32, cursor >> 12 & 0xFFFFF, cursor & 0xFFF) == (town.ledger - 1, 1, 1)
    rest = listed(town, limit=2, cursor=page["cursor"])
    assert [item["txHash"] for item in page["transactions"] + rest["transactions"]] == hashes


def test_the_last_page_ends_in_the_latest_ledger_and_later_ones_go_on_from_there(town: Town) -> None:
    town.pay()
    town.state.close(2)
    cursor = listed(town, 1_000_000)["cursor"]
    assert int(cursor) >> 32 == town.ledger
    assert listed(town, cursor=cursor)["cursor"] == cursor
    paid = town.pay()
    assert [item["txHash"] for item in listed(town, cursor=cursor)["transactions"]] == [paid]


def test_a_cursor_beyond_the_node_leads_to_the_beginning_of_time(town: Town) -> None:
    """A loop that runs no round leaves its cursor zero; following it finds no metadata. Was red."""
    town.pay()
    cursor = listed(town, town.ledger)["cursor"]
    town.faults.add("lag", ledgers=1)
    page = listed(town, cursor=cursor)
    assert (page["transactions"], page["cursor"]) == ([], "0")
    params = {"pagination": {"cursor": page["cursor"]}}
    assert error(town, "getTransactions", params) == (
        -32602,
        "database does not contain metadata for ledger: 0",
    )


def test_a_start_that_a_lagging_node_has_not_reached_is_an_invalid_request(town: Town) -> None:
    start = town.ledger
    town.faults.add("lag", ledgers=2)
    code, text = error(town, "getTransactions", {"startLedger": start})
    assert code == -32600
    assert text == (
        f"start ledger must be between the oldest ledger: 1000000 and the latest ledger: {start - 2} "
        "for this rpc instance"
    )


@pytest.mark.parametrize(
    ("fault", "code", "text"),
    [
        ("processing_limit", -32001, "[-32001] request exceeded processing limit threshold"),
        ("queue_limit", -32098, "rpc queue for getTransactions surpassed queue limit of 1000 requests"),
        ("database_error", -32603, "database is locked"),
        ("missing_metadata", -32602, "database does not contain metadata for ledger: 1000019"),
        ("page_limit", -32600, "limit must not exceed 100"),
    ],
)
def test_a_list_in_range_fails_in_the_words_of_stellar_rpc(
    town: Town, fault: str, code: int, text: str
) -> None:
    """Each was unknown to the chain; other methods answer meanwhile."""
    town.faults.add(fault)
    params = {"startLedger": town.ledger, "pagination": {"limit": 200}}
    assert error(town, "getTransactions", params) == (code, text)
    assert town.rpc.call("getHealth")["status"] == "healthy"
    town.faults.clear()
    assert "transactions" in town.rpc.call("getTransactions", params)


def test_a_smaller_page_is_taken_where_a_large_one_is_not(town: Town) -> None:
    paid = [town.pay() for _ in range(3)]
    town.faults.add("page_limit", limit=2)
    town.faults.add("page_limit", limit=2, method="getEvents")
    assert len(listed(town, 1_000_000, limit=2)["transactions"]) == 2
    assert len(listed(town, 1_000_000)["transactions"]) == 2
    params = {"startLedger": 1_000_000, "pagination": {"limit": 3}}
    assert error(town, "getEvents", params) == (-32602, "limit must not exceed 2")
    assert paid


def test_metadata_that_is_missing_matters_once_it_is_read(town: Town) -> None:
    town.pay()
    town.state.close()
    town.faults.add("missing_metadata", ledger=town.ledger)
    assert len(listed(town, town.ledger - 1, limit=1)["transactions"]) == 1
    code, text = error(town, "getTransactions", {"startLedger": town.ledger - 1})
    assert (code, text) == (-32602, f"database does not contain metadata for ledger: {town.ledger}")


def test_a_cursor_into_pruned_history_is_missing_metadata(town: Town) -> None:
    town.pay()
    cursor = listed(town, 1_000_000, limit=1)["cursor"]
    town.state.close(5)
    town.faults.add("prune", oldest=town.ledger)
    code, text = error(town, "getTransactions", {"pagination": {"cursor": cursor}})
    assert (code, "metadata" in text) == (-32602, True)


def test_a_filtered_transaction_is_an_internal_error_and_is_not_taken(town: Town) -> None:
    town.faults.add("filtered")
    envelope = town.ready().to_xdr()
    assert error(town, "sendTransaction", {"transaction": envelope}) == (
        -32603,
        "invalid status from stellar-core",
    )
    assert town.state.queue == []
    assert town.rpc.call("sendTransaction", {"transaction": envelope})["status"] == "PENDING"


def test_a_core_that_does_not_answer_is_an_internal_error(town: Town) -> None:
    town.faults.add("captive_core", count=1)
    code, text = error(town, "getLedgerEntries", {"keys": []})
    assert (code, "captive core" in text) == (-32603, True)


def test_settings_can_be_hidden(town: Town) -> None:
    town.faults.add("hide_settings", count=1)
    params = {"keys": [ARCHIVAL.to_xdr()]}
    assert town.rpc.call("getLedgerEntries", params)["entries"] == []
    assert len(town.rpc.call("getLedgerEntries", params)["entries"]) == 1
