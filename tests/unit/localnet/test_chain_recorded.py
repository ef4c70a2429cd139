"""Replies of real Stellar RPC nodes (tests/fixtures): the chain answers in their shape, clients read them.

Older nodes left out what newer ones send; what a test adds to a recorded shape says so.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import TransactionEnvelope, scval, xdr

from provider.chain.node import Node
from provider.chain.rpc import StellarRpc
from provider.localnet.chain import keys
from tests.unit.localnet.support import Town

FIXTURES = Path(__file__).parents[2] / "fixtures"
REPLIES = json.loads((FIXTURES / "stellar_rpc_replies.json").read_text())["replies"]


def recorded(method: str, case: str) -> Any:
    (found,) = (item for item in REPLIES if (item["method"], item["case"]) == (method, case))
    return found["result"]


def shape(value: Any) -> Any:
    """Names and types, without the values; a list has the shape of its first item."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value[:1]] if isinstance(value, list) else type(value).__name__


class Recorded(StellarRpc):
    """An RPC that gives recorded replies, whatever is asked."""

    def __init__(self, reply: Any) -> None:
        super().__init__("http://recorded.invalid")
        self._reply = reply

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        assert isinstance(self._reply, dict)
        return self._reply


@pytest.mark.parametrize("item", REPLIES, ids=lambda item: f"{item['method']} {item['case']}")
def test_every_recorded_reply_names_source_and_licence(item: dict[str, Any]) -> None:
    assert item["source"].count("@") == 1
    assert item["license"].startswith(("Apache-2.0", "MIT"))


def test_health_has_its_times_as_text(town: Town) -> None:
    """Was red: they were numbers. The recorded reply lacks the time of the oldest ledger."""
    theirs = shape(recorded("getHealth", "healthy"))
    assert shape(town.rpc.call("getHealth")) == theirs | {"oldestLedgerCloseTime": "str"}
    health = Recorded(recorded("getHealth", "healthy")).health()
    assert (health.latest_ledger, health.latest_close_time) == (63_525_714, 1_784_332_881)


def test_the_network_is_named_in_the_recorded_shape(town: Town) -> None:
    theirs = recorded("getNetwork", "pubnet")
    assert shape(town.rpc.call("getNetwork")) == shape(theirs)
    assert Recorded(theirs).passphrase() == theirs["passphrase"]


def test_events_have_the_recorded_shape(town: Town) -> None:
    """But for `inSuccessfulContractCall`, which the newest nodes leave out."""
    town.pay()
    theirs = recorded("getEvents", "transfers")
    wanted = shape(theirs)
    del wanted["events"][0]["inSuccessfulContractCall"]
    assert shape(town.rpc.call("getEvents", {"startLedger": town.ledger})) == wanted
    page = Recorded(theirs).events([], first=1, last=2)
    assert [event.ledger for event in page.items] == [3_727_845, 3_727_845]
    assert page.cursor == theirs["cursor"]


def test_ids_of_events_are_made_as_recorded(town: Town) -> None:
    """A TOID of ledger and transaction, and the number of the event."""
    theirs = recorded("getEvents", "transfers")["events"][0]
    toid = theirs["ledger"] << 32 | theirs["transactionIndex"] << 12
    assert theirs["id"] == f"{toid:019d}-0000000001"
    town.pay()
    (ours,) = town.rpc.call("getEvents", {"startLedger": town.ledger})["events"]
    assert ours["id"] == f"{ours['ledger'] << 32 | ours['transactionIndex'] << 12:019d}-0000000000"


def test_a_list_of_transactions_has_the_recorded_shape(town: Town) -> None:
    """Newer nodes add three fields to each transaction. The cursor is that of the last one."""
    town.pay()
    theirs = recorded("getTransactions", "page")
    ours = town.rpc.call("getTransactions", {"startLedger": town.ledger})
    newer = {"txHash", "events", "diagnosticEventsXdr"}
    wanted = shape(theirs)
    kept = {key: kind for key, kind in shape(ours)["transactions"][0].items() if key not in newer}
    assert shape(ours) | {"transactions": [kept]} == wanted
    last = theirs["transactions"][-1]
    assert int(theirs["cursor"]) == last["ledger"] << 32 | last["applicationOrder"] << 12 | 1
    assert int(ours["cursor"]) == town.ledger << 32 | 1 << 12 | 1
    page = Recorded(theirs).transactions(1)
    assert [item.ledger for item in page.items] == [1_888_539, 1_888_540]


def test_a_failed_transaction_has_the_recorded_shape(town: Town) -> None:
    town.faults.add("fail_next")
    ours, theirs = town.get(town.pay()), recorded("getTransaction", "failed")
    newer = {"txHash": "str", "feeBump": "bool", "events": {"transactionEventsXdr": []}}
    assert shape(ours) == shape(theirs) | newer | {"diagnosticEventsXdr": ["str"]}
    envelope = TransactionEnvelope.from_xdr(theirs["envelopeXdr"], town.passphrase)
    assert Recorded(theirs).transaction(envelope.hash_hex()).ledger == theirs["ledger"]


def test_an_unknown_transaction_has_no_ledger(town: Town) -> None:
    """Older nodes left the zeros out; both read the same."""
    for reply in (town.get("0" * 64), recorded("getTransaction", "not found")):
        found = Recorded(reply).transaction("0" * 64)
        assert (found.status, found.ledger) == ("NOT_FOUND", None)


@pytest.mark.parametrize("status", ["pending", "duplicate", "try again later", "error"])
def test_what_was_sent_is_answered_in_the_recorded_shape(town: Town, status: str) -> None:
    envelope = town.ready(sequence=5) if status == "error" else town.ready()
    if status == "duplicate":
        town.send(envelope)
    if status == "try again later":
        town.faults.add("try_again_later")
    ours, theirs = town.send(envelope), recorded("sendTransaction", status)
    assert (ours["status"], shape(ours)) == (theirs["status"], shape(theirs))


def test_a_refused_transaction_names_the_fee_it_would_have_cost(town: Town) -> None:
    """Was red: it named none."""
    theirs = recorded("sendTransaction", "error")["errorResultXdr"]
    for result in (theirs, town.send(town.ready(sequence=5))["errorResultXdr"]):
        found = xdr.TransactionResult.from_xdr(result)
        assert found.result.code.name == "txBAD_SEQ"
        assert found.fee_charged.int64 >= 100


@pytest.mark.parametrize("case", ["success", "error"])
def test_a_simulation_has_the_recorded_shape(town: Town, case: str) -> None:
    amount = 1 if case == "success" else 10**12
    theirs = recorded("simulateTransaction", case)
    wanted = shape(theirs)
    if case == "success":
        wanted["results"][0]["auth"] = ["str"]  # The recorded call needed no authorisation.
    assert shape(town.simulate(town.transfer(amount))) == wanted


def test_ledger_entries_have_the_recorded_shape(town: Town) -> None:
    """Newer nodes add two fields to each."""
    wallet = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC"
    town.state.fund(wallet, "2", signer=town.payer.public_key)
    key = keys.balance_key(wallet, town.state.config.token).to_xdr()
    ours = town.rpc.call("getLedgerEntries", {"keys": [key]})
    theirs = recorded("getLedgerEntries", "balance of a contract")
    wanted = shape(theirs)
    wanted["entries"][0] |= {"extXdr": "str", "liveUntilLedgerSeq": "int"}
    assert shape(ours) == wanted
    for reply in (ours, theirs):
        data = xdr.LedgerEntryData.from_xdr(reply["entries"][0]["xdr"]).contract_data
        assert data is not None
        assert set(scval.to_native(data.val)) == {"amount", "authorized", "clawback"}  # type: ignore[arg-type]


def test_a_recorded_fee_event_is_no_transfer() -> None:
    """Nodes may give events of the network itself, with two topics; a transfer has four."""
    (event,) = Recorded(recorded("getEvents", "fees")).events([], first=1, last=2).items
    assert scval.to_native(event.topics[0]) == "fee"
    assert len(event.topics) == 2


def test_the_node_of_the_facilitator_reads_health_of_any_age(town: Town) -> None:
    """Times came as numbers in some versions, as text in others, and not at all before 27.1."""
    node = Node("http://recorded.invalid")
    theirs = recorded("getHealth", "healthy")
    for reply in (theirs, theirs | {"latestLedgerCloseTime": 1_784_332_881}):
        node._rpc = Recorded(reply)
        assert node.clock().closed_at == 1_784_332_881
