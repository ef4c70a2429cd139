"""The JSON-RPC surface: envelope, parameters, ledger entries, events."""

import json
from typing import Any

import pytest
from stellar_sdk import Keypair, StrKey, scval, xdr

from provider.localnet.chain import events, horizon, keys
from provider.localnet.chain.errors import InvalidParams, InvalidRequest, JsonRpcError
from provider.localnet.chain.model import NULL_ACCOUNT
from tests.unit.localnet.support import Town

TRANSFER = scval.to_symbol("transfer").to_xdr()


def ask(town: Town, body: Any) -> Any:
    return json.loads(town.rpc.answer(body if isinstance(body, bytes) else json.dumps(body).encode()))


def entries(town: Town, *wanted: xdr.LedgerKey) -> dict[str, Any]:
    reply = town.rpc.call("getLedgerEntries", {"keys": [key.to_xdr() for key in wanted]})
    return {item["key"]: item for item in reply["entries"]}


def find(town: Town, topics: list[list[str]], start: int = 1_000_000, **extra: Any) -> dict[str, Any]:
    filters = [{"type": "contract", "contractIds": [town.state.config.token.contract], "topics": topics}]
    params: dict[str, Any] = {"filters": filters, **extra}
    return town.rpc.call(
        "getEvents", params if "pagination" in extra and not start else params | {"startLedger": start}
    )


def test_a_success_has_no_error_key(town: Town) -> None:
    """The JavaScript client throws on `"error": null`; facts B2."""
    reply = ask(town, {"jsonrpc": "2.0", "id": "a-b", "method": "getHealth", "params": None})
    assert reply.keys() == {"jsonrpc", "id", "result"}
    assert reply["id"] == "a-b"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        ({"id": 1}, -32600),
        ({"id": 1, "method": "getFeeStats"}, -32601),
        ({"id": 1, "method": "getTransaction", "params": []}, -32602),
        ({"id": 1, "method": "getTransaction", "params": {"hash": "ab"}}, -32602),
        ({"id": 1, "method": "getTransaction", "params": {"hash": "z" * 64}}, -32602),
        ({"id": 1, "method": "sendTransaction", "params": None}, -32602),
    ],
)
def test_a_bad_request_is_an_error_object(town: Town, body: Any, code: int) -> None:
    reply = ask(town, body)
    assert reply["error"]["code"] == code
    assert "result" not in reply


def test_the_null_account_exists(town: Town) -> None:
    """The Python SDK loads it before every call; facts B4.2."""
    key = keys.account_key(NULL_ACCOUNT)
    data = xdr.LedgerEntryData.from_xdr(entries(town, key)[key.to_xdr()]["xdr"])
    assert data.account is not None
    assert data.account.seq_num.sequence_number.int64 == 0


def test_missing_entries_are_left_out_and_the_others_keep_their_key(town: Town) -> None:
    known = keys.trustline_key(town.payer.public_key, town.state.config.token)
    found = entries(town, keys.account_key(Keypair.random().public_key), known)
    assert found.keys() == {known.to_xdr()}
    line = xdr.LedgerEntryData.from_xdr(found[known.to_xdr()]["xdr"]).trust_line
    assert line is not None
    assert line.balance.int64 == 1_000_000_000
    assert "liveUntilLedgerSeq" not in found[known.to_xdr()]


def test_a_wallet_keeps_its_balance_in_contract_data(town: Town) -> None:
    wallet, token = StrKey.encode_contract(bytes(32)), town.state.config.token
    town.state.fund(wallet, "2", signer=town.payer.public_key)
    key = keys.balance_key(wallet, token)
    found = entries(town, key, keys.instance_key(wallet), keys.instance_key(token.contract))
    assert len(found) == 3
    data = xdr.LedgerEntryData.from_xdr(found[key.to_xdr()]["xdr"]).contract_data
    assert data is not None
    assert scval.to_native(data.val)["amount"] == 20_000_000  # type: ignore[index,call-overload]


@pytest.mark.parametrize("wanted", [None, "x", ["AAAA"], ["*"], [""], [7]])
def test_keys_that_are_none_are_refused(town: Town, wanted: Any) -> None:
    with pytest.raises(InvalidParams):
        town.rpc.call("getLedgerEntries", {"keys": wanted})


def test_entries_come_in_the_order_of_the_request(town: Town) -> None:
    """Was red: they came in the order of the ledger."""
    known = [keys.account_key(item.public_key) for item in (town.payer, town.merchant, town.facilitator)]
    for wanted in (known, known[::-1]):
        assert list(entries(town, *wanted)) == [key.to_xdr() for key in wanted]


def test_a_key_that_comes_twice_fails_the_whole_request(town: Town) -> None:
    """With a status in place of a reason. Was red: it was answered once."""
    key = keys.account_key(town.payer.public_key)
    with pytest.raises(JsonRpcError, match=r"could not query captive core: .* \(404\)") as caught:
        entries(town, key, key)
    assert caught.value.code == -32603


def test_no_keys_are_an_error(town: Town) -> None:
    """Was red: they were an empty answer."""
    with pytest.raises(JsonRpcError, match="no keys specified in request"):
        entries(town)


def test_at_most_200_keys_are_looked_up(town: Town) -> None:
    key = [keys.nonce_key(NULL_ACCOUNT, number).to_xdr() for number in range(201)]
    assert town.rpc.call("getLedgerEntries", {"keys": key[:200]})["entries"] == []
    with pytest.raises(InvalidParams, match="exceeds maximum supported"):
        town.rpc.call("getLedgerEntries", {"keys": key})


def test_a_nonce_is_a_temporary_entry(town: Town) -> None:
    """Asking for the persistent one finds nothing, which proves nothing."""
    town.pay()
    nonce = town.state.transfers[0].nonce
    assert nonce is not None
    key = keys.nonce_key(town.payer.public_key, nonce)
    assert len(entries(town, key)) == 1
    assert key.contract_data is not None
    key.contract_data.durability = keys.PERSISTENT
    assert entries(town, key) == {}


def test_ttl_entries_cannot_be_asked_for(town: Town) -> None:
    key = xdr.LedgerKey(xdr.LedgerEntryType.TTL, ttl=xdr.LedgerKeyTtl(xdr.Hash(bytes(32))))
    with pytest.raises(InvalidParams, match="ttl"):
        entries(town, key)


def test_a_transfer_event_has_four_topics(town: Town) -> None:
    """So a filter of three finds nothing: facts B3."""
    town.pay()
    to = scval.to_address(town.merchant.public_key).to_xdr()
    assert find(town, [[TRANSFER, "*", to]])["events"] == []
    for topics in ([TRANSFER, "*", to, "**"], [TRANSFER, "*", to, "*"], [TRANSFER, "**"], ["**"]):
        (event,) = find(town, [topics])["events"]
        assert (event["ledger"], len(event["topic"])) == (town.ledger, 4)
        assert scval.from_int128(event["value"]) == 10_000


def test_filters_are_alternatives(town: Town) -> None:
    town.pay()
    nobody = scval.to_address(NULL_ACCOUNT).to_xdr()
    assert find(town, [[TRANSFER, nobody, "**"]])["events"] == []
    assert len(find(town, [[TRANSFER, nobody, "**"], [TRANSFER, "**"]])["events"]) == 1


def test_pages_follow_the_cursor_to_the_end(town: Town) -> None:
    for _ in range(3):
        town.pay()
    page = find(town, [["**"]], pagination={"limit": 2})
    assert len(page["events"]) == 2
    assert page["cursor"] == page["events"][-1]["id"]
    rest = find(town, [["**"]], start=0, pagination={"limit": 2, "cursor": page["cursor"]})
    assert [event["ledger"] for event in rest["events"]] == [town.ledger]
    last = find(town, [["**"]], start=0, pagination={"cursor": rest["cursor"]})
    assert last["events"] == []


def test_one_request_scans_ten_thousand_ledgers(town: Town) -> None:
    """An empty page is not the end: facts A5.5."""
    town.state.close(10_000)
    town.pay()
    first = find(town, [["**"]])
    assert first["events"] == []
    toid = int(first["cursor"].split("-")[0])
    assert toid >> 32 == 1_000_000 + events.SCAN_LEDGERS - 1
    assert len(find(town, [["**"]], start=0, pagination={"cursor": first["cursor"]})["events"]) == 1


def test_the_end_ledger_is_exclusive(town: Town) -> None:
    town.pay()
    assert find(town, [["**"]], endLedger=town.ledger)["events"] == []
    assert len(find(town, [["**"]], endLedger=town.ledger + 1)["events"]) == 1


@pytest.mark.parametrize("end", [1_000_000, 999_000, 1])
def test_an_end_at_or_before_the_start_is_an_empty_range(town: Town, end: int) -> None:
    """Was red: it was refused, though Stellar RPC does not look."""
    found = find(town, [["**"]], endLedger=end)
    assert found["events"] == []
    assert int(found["cursor"].split("-")[0]) >> 32 == end - 1


def test_a_topic_filter_has_four_segments_and_a_rest(town: Town) -> None:
    """Was red: the rest was counted."""
    town.pay()
    assert len(find(town, [["*", "*", "*", "*", "**"]])["events"]) == 1


@pytest.mark.parametrize("start", [999_999, 1_000_020])
def test_a_start_outside_of_the_history_is_an_invalid_request(town: Town, start: int) -> None:
    with pytest.raises(InvalidRequest, match="must be within the ledger range: 1000000 - 1000019"):
        find(town, [["**"]], start=start)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"startLedger": "1000000"},
        {"startLedger": 1_000_000, "pagination": {"limit": 10_001}},
        {"startLedger": 1_000_000, "pagination": {"cursor": "0004295053195350016-0000000000"}},
        {"pagination": {"cursor": "tomorrow"}},
        {"startLedger": 1_000_000, "filters": [{}] * 6},
        {"startLedger": 1_000_000, "filters": [{"type": "diagnostic"}]},
        {"startLedger": 1_000_000, "filters": [{"contractIds": ["G"]}]},
        {"startLedger": 1_000_000, "filters": [{"topics": [["*"] * 5]}]},
        {"startLedger": 1_000_000, "filters": [{"topics": [["**", "*"]]}]},
        {"startLedger": 1_000_000, "filters": [{"topics": [["transfer"]]}]},
        {"startLedger": 1_000_000, "filters": [{"topics": [[]]}]},
        {"startLedger": 1_000_000, "filters": [{"topics": [["*"]] * 6}]},
    ],
)
def test_a_wrong_query_is_refused(town: Town, params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        town.rpc.call("getEvents", params)


def test_a_node_half_a_minute_behind_is_unhealthy(town: Town) -> None:
    """An error object, not a status; facts A5.7."""
    town.faults.add("lag", ledgers=6)
    assert town.rpc.call("getHealth")["latestLedger"] == town.ledger - 6
    town.faults.clear()
    town.faults.add("lag", ledgers=7)
    with pytest.raises(JsonRpcError, match="latency"):
        town.rpc.call("getHealth")


def test_horizon_spaces_its_close_times(town: Town) -> None:
    """Clients divide by the difference of 20 ledgers, from the first moment on; facts B4.1."""
    records = horizon.ledgers(town.state, "limit=20&order=desc")["_embedded"]["records"]
    assert [item["sequence"] for item in records] == list(range(1_000_019, 999_999, -1))
    assert records[0]["closed_at"] == "2026-11-30T02:51:59Z"
    assert records[-1]["closed_at"] == "2026-11-30T02:50:24Z"
