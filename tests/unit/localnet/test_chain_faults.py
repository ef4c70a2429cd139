"""Every fault switch: what the client sees, and what became of the transaction."""

from typing import Any

import pytest

from provider.localnet.chain import keys
from provider.localnet.chain.admin import Admin
from provider.localnet.chain.errors import BrokenConnection, InvalidRequest, ServerDown, UnknownFault
from provider.localnet.chain.faults import KINDS
from tests.unit.localnet.support import Town, nonce_of


def landed(town: Town, ledgers: int = 1) -> int:
    """Close, and count the payments that arrived."""
    town.state.close(ledgers)
    return len(town.state.transfers)


def test_a_dropped_reply_is_a_transaction_that_was_taken(town: Town) -> None:
    town.faults.add("drop_send_reply")
    with pytest.raises(BrokenConnection):
        town.send(town.ready())
    assert landed(town) == 1


def test_a_dropped_request_is_a_transaction_that_was_not_taken(town: Town) -> None:
    town.faults.add("drop_send_request")
    with pytest.raises(BrokenConnection):
        town.send(town.ready())
    assert landed(town) == 0


def test_a_late_reply_comes_after_the_transaction_was_taken(town: Town) -> None:
    town.faults.add("late_reply", seconds=9)
    assert town.send(town.ready())["status"] == "PENDING"
    assert town.pauses == [9]
    assert landed(town) == 1


def test_try_again_later_is_answered_as_often_as_asked_for(town: Town) -> None:
    town.faults.add("try_again_later", count=2)
    envelope = town.ready()
    answers = [town.send(envelope)["status"] for _ in range(3)]
    assert answers == ["TRY_AGAIN_LATER", "TRY_AGAIN_LATER", "PENDING"]


@pytest.mark.parametrize(("accept", "payments"), [(True, 1), (False, 0)])
def test_a_duplicate_may_or_may_not_be_on_its_way(town: Town, accept: bool, payments: int) -> None:
    town.faults.add("duplicate", accept=accept)
    assert town.send(town.ready())["status"] == "DUPLICATE"
    assert landed(town) == payments


def test_a_transaction_that_never_confirms_leaves_no_trace(town: Town) -> None:
    town.faults.add("never_confirm")
    sent = town.send(town.ready())
    assert sent["status"] == "PENDING"
    assert landed(town, 50) == 0
    assert town.get(sent["hash"])["status"] == "NOT_FOUND"


def test_a_delayed_transaction_lands_that_many_ledgers_later(town: Town) -> None:
    town.faults.add("delay_confirm", ledgers=5)
    town.send(town.ready())
    assert [landed(town, ledgers) for ledgers in (5, 1)] == [0, 1]


def test_a_delayed_transaction_fails_when_its_authorisation_ran_out(town: Town) -> None:
    town.faults.add("delay_confirm", ledgers=20)
    sent = town.send(town.ready())
    assert landed(town, 21) == 0
    assert town.get(sent["hash"])["status"] == "FAILED"


def test_the_next_transaction_fails_and_the_one_after_does_not(town: Town) -> None:
    town.faults.add("fail_next")
    failed = town.pay()
    assert town.get(failed)["status"] == "FAILED"
    assert "contractEventsXdr" not in town.get(failed)["events"]
    assert town.get(town.pay())["status"] == "SUCCESS"


def test_a_node_that_is_down_answers_nothing_useful(town: Town) -> None:
    town.faults.add("rpc_down")
    with pytest.raises(ServerDown):
        town.rpc.call("getHealth")
    town.faults.clear("rpc_down")
    town.faults.add("rpc_down", mode="http503", count=1)
    with pytest.raises(ServerDown, match="HTTP 503"):
        town.rpc.call("getHealth")
    town.faults.add("rpc_down", mode="reset", method="getTransaction")
    assert town.rpc.call("getNetwork")
    with pytest.raises(BrokenConnection):
        town.get("0" * 64)


def test_a_node_that_hangs_waits_before_it_breaks(town: Town) -> None:
    town.faults.add("rpc_down", mode="timeout", seconds=60, count=1)
    with pytest.raises(BrokenConnection):
        town.rpc.call("getHealth")
    assert town.pauses == [60]
    assert town.rpc.call("getHealth")


def test_a_lagging_node_shows_the_state_of_then(town: Town) -> None:
    """Its own latestLedger says how old the answer is: D3 depends on it."""
    call = town.transfer()
    entry = town.authorize(call)
    sent = town.send(town.settlement(call, [entry], data=town.data(call, entry)))
    paid = town.state.close().sequence
    key = keys.nonce_key(town.payer.public_key, nonce_of(entry)).to_xdr()
    town.faults.add("lag", ledgers=1)
    look: dict[str, Any] = town.rpc.call("getLedgerEntries", {"keys": [key]})
    assert (look["entries"], look["latestLedger"]) == ([], paid - 1)
    assert town.get(sent["hash"])["status"] == "NOT_FOUND"
    assert town.rpc.call("getLatestLedger")["sequence"] == paid - 1
    with pytest.raises(InvalidRequest):
        town.rpc.call("getEvents", {"startLedger": paid})
    town.state.close()
    assert town.rpc.call("getLedgerEntries", {"keys": [key]})["entries"]


def test_a_lagging_node_shows_the_balances_of_then(town: Town) -> None:
    town.state.close()
    key = keys.trustline_key(town.payer.public_key, town.state.config.token).to_xdr()
    before = town.rpc.call("getLedgerEntries", {"keys": [key]})["entries"]
    town.pay()
    town.faults.add("lag", ledgers=1)
    assert town.rpc.call("getLedgerEntries", {"keys": [key]})["entries"] == before


def test_a_lagging_node_knows_the_accounts_that_were_funded_first(town: Town) -> None:
    """Or every test of a lag would have to close ledgers before it starts."""
    town.faults.add("lag", ledgers=15)
    assert "error" not in town.simulate(town.transfer())


def test_pruned_history_is_not_found_or_out_of_range(town: Town) -> None:
    """NOT_FOUND is no proof of anything: facts A5.4."""
    paid = town.pay()
    ledger = town.ledger
    town.state.close(3)
    town.faults.add("prune", oldest=ledger + 1)
    reply = town.get(paid)
    assert (reply["status"], reply["oldestLedger"]) == ("NOT_FOUND", ledger + 1)
    with pytest.raises(InvalidRequest, match=f"{ledger + 1} - {ledger + 3}"):
        town.rpc.call("getEvents", {"startLedger": ledger})
    town.faults.clear("prune")
    assert town.get(paid)["status"] == "SUCCESS"


def test_history_ends_at_the_retention_of_the_node(town: Town) -> None:
    paid = town.pay()
    town.state.close(120_960)
    assert town.get(paid)["status"] == "NOT_FOUND"
    assert town.rpc.call("getHealth")["oldestLedger"] == town.ledger - 120_959


def test_lost_events_do_not_come_back_by_asking_again(town: Town) -> None:
    town.pay()
    query = {"startLedger": town.ledger}
    town.faults.add("lose_events")
    for _ in range(2):
        reply = town.rpc.call("getEvents", query)
        assert reply["events"] == []
        assert int(reply["cursor"].split("-")[0]) >> 32 == town.ledger
    town.faults.clear()
    assert len(town.rpc.call("getEvents", query)["events"]) == 1


def test_a_fault_for_another_method_does_not_act(town: Town) -> None:
    town.faults.add("lag", method="getLatestLedger", ledgers=2)
    assert town.rpc.call("getHealth")["latestLedger"] == town.ledger
    assert town.rpc.call("getLatestLedger")["sequence"] == town.ledger - 2


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("explode", {}),
        ("lag", {"ledger": 3}),
        ("lag", {"ledgers": "3"}),
        ("lag", {"ledgers": -1}),
        ("lag", {"method": "getLedger"}),
        ("fail_next", {"count": 0}),
        ("fail_next", {"count": True}),
        ("duplicate", {"accept": 1}),
        ("rpc_down", {"mode": "http404"}),
        ("page_limit", {"method": "getHealth"}),
        ("missing_metadata", {"method": None}),
    ],
)
def test_a_switch_that_could_never_work_is_refused(town: Town, name: str, given: dict[str, Any]) -> None:
    with pytest.raises(UnknownFault):
        town.faults.add(name, **given)


@pytest.mark.parametrize("name", KINDS)
def test_every_fault_can_be_added_listed_and_cleared(town: Town, name: str) -> None:
    admin = Admin(town.state, town.faults)
    admin.post("fault", {"name": name, "count": 3})
    assert [item["name"] for item in admin.get("faults")["active"]] == [name]
    assert admin.post("clear", {"name": name})["active"] == []


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("fund", {}),
        ("fund", {"account": "GABC"}),
        ("fund", {"account": "G" * 56, "usdc": "1"}),
        ("fund", {"account": 7}),
        ("close", {"ledgers": 0}),
        ("close", {"ledgers": 10**9}),
        ("close", {"ledger": 1}),
        ("credentials", {"mode": "v3"}),
        ("settings", {"min_temporary_ttl": 15}),
        ("settings", {"min_temporary_ttl": "720"}),
        ("fault", {}),
        ("fault", {"name": "nothing"}),
    ],
)
def test_a_wrong_admin_request_is_a_value_error(town: Town, verb: str, body: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Admin(town.state, town.faults).post(verb, body)


@pytest.mark.parametrize("usdc", ["0.00000001", "-1", "NaN", "Infinity", "many"])
def test_an_amount_that_is_none_funds_nothing(town: Town, usdc: str) -> None:
    with pytest.raises(ValueError):
        Admin(town.state, town.faults).post("fund", {"account": town.payer.public_key, "usdc": usdc})
    assert town.balances()[0] == 1_000_000_000


def test_the_state_shows_amounts_and_nonces_as_text(town: Town) -> None:
    tx_hash = town.pay()
    state = Admin(town.state, town.faults).get("state")
    assert state["balances"][town.merchant.public_key] == "10000"
    (transfer,) = state["transfers"]
    assert transfer["nonce"] == str(town.state.transfers[0].nonce)
    assert {key: transfer[key] for key in ("txHash", "ledger", "from", "to", "amount")} == {
        "txHash": tx_hash,
        "ledger": town.ledger,
        "from": town.payer.public_key,
        "to": town.merchant.public_key,
        "amount": "10000",
    }
