"""The local chain against what the official npm packages saw and sent (tests/fixtures).

They saw another chain double: what real nodes answer is in test_chain_recorded.py.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import Keypair, TransactionEnvelope, scval, xdr

from provider.localnet.chain import keys
from provider.localnet.chain.model import ChainConfig
from provider.localnet.chain.state import ChainState
from tests.unit.localnet.support import FakeClock, Town

FIXTURES = Path(__file__).parents[2] / "fixtures"
KEYS = json.loads((FIXTURES / "js_payloads.json").read_text())["keys"]
CALLS = json.loads((FIXTURES / "rpc_transcript.json").read_text())["calls"]
CASES = json.loads((FIXTURES / "verify_cases.json").read_text())["cases"]
PAYLOADS = json.loads((FIXTURES / "js_payloads.json").read_text())["payloads"]

# What real nodes add to the replies of the double that the packages talked to.
ADDED = {"inSuccessfulContractCall", "extXdr"}

# Cases whose fault a facilitator finds by itself: to the chain they are good calls. The verdict on "expired"
# was recorded beside a chain that simulated one ledger too far ahead.
SIMULATED_WELL = {
    "ok",
    "amount_changed_resigned",
    "exp_at_limit+2",
    "fee_too_high",
    "fee_too_low",
    "tx_source_facilitator",
    "address_v2_credentials",
    "network_pubnet",
    "scheme_other",
    "no_soroban_data",
    "huge_resource_fee",
    "expired",
}


@pytest.fixture
def town() -> Town:
    """The people of the fixtures, at the ledger of the fixtures."""
    payer, merchant, facilitator = (
        Keypair.from_secret(KEYS[name]["secret"]) for name in ("payer", "merchant", "facilitator")
    )
    state = ChainState(ChainConfig(manual=True), clock=FakeClock())
    return Town(state, payer=payer, merchant=merchant, facilitator=facilitator)


def recorded(method: str) -> list[dict[str, Any]]:
    return [call for call in CALLS if call["req"]["method"] == method]


def shape(value: Any) -> Any:
    """Names and types, without the values."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if key not in ADDED}
    return [shape(item) for item in value[:1]] if isinstance(value, list) else type(value).__name__


@pytest.mark.parametrize("call", CALLS[:6], ids=lambda call: call["req"]["method"])
def test_replies_have_the_recorded_shape(town: Town, call: dict[str, Any]) -> None:
    ours = town.rpc.call(call["req"]["method"], call["req"]["params"])
    assert shape(ours) == shape(call["res"]["result"])


@pytest.mark.parametrize("method", ["getNetwork", "getEvents"])
def test_replies_about_the_chain_have_the_recorded_shape(town: Town, method: str) -> None:
    town.pay()
    call = recorded(method)[-1]
    ours = town.rpc.call(method, call["req"]["params"])
    assert shape(ours) == shape(call["res"]["result"])


def test_a_recorded_request_simulates_as_recorded(town: Town) -> None:
    """Events, result and authorisation; the footprint is that of a network, with trustlines."""
    call = recorded("simulateTransaction")[1]
    ours, theirs = town.rpc.call("simulateTransaction", call["req"]["params"]), call["res"]["result"]
    for name in ("events", "results", "minResourceFee", "latestLedger"):
        assert ours[name] == theirs[name]


def test_the_footprint_is_that_of_a_real_settlement(town: Town) -> None:
    """Account and instance are read; both trustlines and the nonce are written."""
    data = xdr.SorobanTransactionData.from_xdr(town.simulate(town.transfer())["transactionData"])
    footprint = data.resources.footprint
    assert [key.type.name for key in footprint.read_only] == ["ACCOUNT", "CONTRACT_DATA"]
    assert [key.type.name for key in footprint.read_write] == ["TRUSTLINE", "TRUSTLINE", "CONTRACT_DATA"]


def settled_as_recorded(town: Town) -> str:
    """Send the recorded transaction with our own footprint, and close."""
    params = recorded("sendTransaction")[0]["req"]["params"]
    envelope = TransactionEnvelope.from_xdr(params["transaction"], town.passphrase)
    envelope.transaction.soroban_data = xdr.SorobanTransactionData.from_xdr(
        town.rpc.call("simulateTransaction", params)["transactionData"]
    )
    known = town.state.account(town.facilitator.public_key)
    assert known is not None
    envelope.transaction.sequence = known.sequence + 1
    envelope.signatures.clear()
    envelope.sign(town.facilitator)
    town.send(envelope)
    town.state.close()
    return envelope.hash_hex()


def without_changes(meta: str) -> str:
    """Leave out what the operation changed, which the recorded meta lacks."""
    found = xdr.TransactionMeta.from_xdr(meta)
    assert found.v4 is not None
    found.v4.operations[0].changes = xdr.LedgerEntryChanges([])
    return found.to_xdr()


def test_a_recorded_payment_settles_with_the_recorded_result(town: Town) -> None:
    """Result, meta and events are equal to the byte."""
    ours = town.get(settled_as_recorded(town))
    theirs = recorded("getTransaction")[-1]["res"]["result"]
    assert shape(ours) == shape(theirs)
    for name in ("status", "ledger", "feeBump", "applicationOrder", "resultXdr", "events"):
        assert ours[name] == theirs[name]
    assert without_changes(ours["resultMetaXdr"]) == theirs["resultMetaXdr"]
    assert ours["diagnosticEventsXdr"] == theirs["diagnosticEventsXdr"]


def test_a_recorded_payment_is_found_by_its_nonce_and_its_events(town: Town) -> None:
    settled_as_recorded(town)
    call = recorded("getLedgerEntries")[-1]
    (ours,) = town.rpc.call("getLedgerEntries", call["req"]["params"])["entries"]
    (theirs,) = call["res"]["result"]["entries"]
    assert (ours["key"], ours["xdr"]) == (theirs["key"], theirs["xdr"])
    for call in recorded("getEvents"):
        ours, theirs = town.rpc.call("getEvents", call["req"]["params"]), call["res"]["result"]
        assert [item["id"] for item in ours["events"]] == [item["id"] for item in theirs["events"]]
        assert ours["cursor"] == theirs["cursor"]
        assert [item["topic"] for item in ours["events"]] == [item["topic"] for item in theirs["events"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_mutated_payments_simulate_as_the_official_facilitator_needs(
    town: Town, case: dict[str, Any]
) -> None:
    simulated = town.simulate(case["paymentPayload"]["payload"]["transaction"])
    assert ("error" not in simulated) == (case["name"] in SIMULATED_WELL)
    if case["expected"].endswith("simulation_failed") and case["name"] not in SIMULATED_WELL:
        assert "HostError: Error(Auth" in simulated["error"]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_of_the_official_client_are_authorised(town: Town, payload: dict[str, Any]) -> None:
    decoded = payload["decoded"]
    town.state.fund(decoded["from"], "1000000")
    town.state.fund(decoded["to"])
    simulated = town.simulate(payload["paymentPayload"]["payload"]["transaction"])
    body = xdr.DiagnosticEvent.from_xdr(simulated["events"][1]).event.body.v0
    assert body is not None
    assert str(scval.from_int128(body.data)) == decoded["amount"]


def test_the_nonce_key_is_that_of_a_real_network() -> None:
    """facts A5.1, the verified sample."""
    key = keys.nonce_key("GBRKRUDYKYOSGH4QIYAFONPWXFCFC7K5AYHIVJDNYJAZ33BE5YSMTS6R", 6270564785915702252)
    assert key.to_xdr() == (
        "AAAABgAAAAAAAAAAYqjQeFYdIx+QRgBXNfa5RFF9XQYOiqRtwkGd7CTuJMkAAAAVVwWFcy2UK+wAAAAA"
    )


def test_the_token_is_the_usdc_of_the_test_network(town: Town) -> None:
    token = town.state.config.token
    assert token.asset.contract_id(town.passphrase) == token.contract
