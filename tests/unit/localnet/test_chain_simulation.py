"""simulateTransaction: what it refuses in its reply, and what it simulates besides calls."""

import pytest
from stellar_sdk import TextMemo, xdr

from provider.localnet.chain import keys
from tests.unit.localnet.support import Town


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("x", "optional 'authMode' must be one of enforce,record,record_allow_nonroot when included"),
        ("record", "cannot set authMode to 'record' with an auth footprint"),
    ],
)
def test_a_wrong_auth_mode_is_an_error_in_the_reply(town: Town, mode: str, error: str) -> None:
    """Was red: an unknown one was a JSON-RPC error."""
    assert town.simulate(town.ready().to_xdr(), authMode=mode) == {"error": error, "latestLedger": 0}


def test_a_memo_is_refused_where_addresses_authorise(town: Town) -> None:
    """Was red: the memo was ignored."""
    envelope = town.ready()
    envelope.transaction.memo = TextMemo("order 7")
    assert "uses memo" in town.simulate(envelope.to_xdr())["error"]


def test_an_extension_is_simulated_with_the_footprint_that_it_came_with(town: Town) -> None:
    """Was red: it was an unsupported operation."""
    data = town.data(town.transfer())
    data.resources.footprint = xdr.LedgerFootprint([keys.instance_key(town.state.config.token.contract)], [])
    builder = town.builder().append_extend_footprint_ttl_op(10)
    assert "must be provided" in town.simulate(builder.build().to_xdr())["error"]
    reply = town.simulate(builder.set_soroban_data(data).build().to_xdr())
    found = xdr.SorobanTransactionData.from_xdr(reply["transactionData"])
    assert found.resources.footprint == data.resources.footprint
    assert "results" not in reply


def test_enforcing_needs_authorisations(town: Town) -> None:
    assert "Unauthorized" in town.simulate(town.transfer(), authMode="enforce")["error"]


def test_the_source_of_a_transaction_needs_no_entry(town: Town) -> None:
    call = town.transfer(payer=town.facilitator.public_key, amount=0)
    envelope = town.settlement(call, [])
    (entry,) = town.simulate(envelope.to_xdr())["results"][0]["auth"]
    credentials = xdr.SorobanAuthorizationEntry.from_xdr(entry).credentials
    assert credentials.type == xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT
