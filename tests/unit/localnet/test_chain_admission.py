"""sendTransaction: what the queue takes, and with which words it refuses (facts A5.9, B3)."""

from typing import Any

import pytest
from stellar_sdk import (
    Keypair,
    MuxedAccount,
    Network,
    TextMemo,
    TransactionBuilder,
    TransactionEnvelope,
    xdr,
)

from provider.localnet.chain.errors import InvalidParams
from provider.localnet.chain.state import ChainState
from tests.unit.localnet.support import NOW, FakeClock, Town, result_code


def refused(town: Town, envelope: Any) -> str:
    reply = town.send(envelope)
    assert reply["status"] == "ERROR"
    assert reply["hash"] == envelope.hash_hex()
    return result_code(reply["errorResultXdr"])


def changed(data: xdr.SorobanTransactionData, resource_fee: int) -> xdr.SorobanTransactionData:
    copy = xdr.SorobanTransactionData.from_xdr_bytes(data.to_xdr_bytes())
    copy.resource_fee = xdr.Int64(resource_fee)
    return copy


@pytest.mark.parametrize("off", [-1, 1])
def test_only_the_next_sequence_number_is_taken(town: Town, off: int) -> None:
    known = town.state.account(town.facilitator.public_key)
    assert known is not None
    assert refused(town, town.ready(sequence=known.sequence + off)) == "txBAD_SEQ"


def test_a_transaction_that_was_applied_is_put_off_before_it_is_refused(town: Town) -> None:
    """Its hash is banned for ten ledgers, its own counted; then its sequence number is used.

    Was red: the chain answered ERROR txBAD_SEQ at once.
    """
    envelope = town.ready()
    town.send(envelope)
    town.state.close()
    for _ in range(9):
        assert town.send(envelope)["status"] == "TRY_AGAIN_LATER"
        town.state.close()
    assert refused(town, envelope) == "txBAD_SEQ"


def test_a_transaction_that_became_invalid_in_the_queue_is_put_off(town: Town) -> None:
    """Was red: it was ERROR txTOO_LATE at once."""
    envelope = town.ready(bounds=(0, NOW + 4))
    town.send(envelope)
    town.state.close()
    for _ in range(10):
        assert town.send(envelope)["status"] == "TRY_AGAIN_LATER"
        town.state.close()
    assert refused(town, envelope) == "txTOO_LATE"


def test_an_account_with_a_transaction_in_the_queue_is_put_off_unread(town: Town) -> None:
    """Before signatures are looked at. Was red: it was ERROR txBAD_AUTH."""
    town.send(town.ready())
    assert town.send(town.ready(signer=Keypair.random()))["status"] == "TRY_AGAIN_LATER"


def test_the_inner_transaction_of_a_waiting_fee_bump_is_a_duplicate(town: Town) -> None:
    """Was red: the chain looked at the outer hash alone."""
    sponsor, inner = Keypair.random(), town.ready()
    town.state.fund(sponsor.public_key)
    outer = TransactionBuilder.build_fee_bump_transaction(sponsor, 30_000, inner, town.passphrase)
    outer.sign(sponsor)
    assert [town.send(item)["status"] for item in (outer, inner)] == ["PENDING", "DUPLICATE"]


@pytest.mark.parametrize("case", ["memo", "muxed source"])
def test_a_call_that_addresses_authorise_has_neither_memo_nor_muxed_source(town: Town, case: str) -> None:
    """Was red: both were taken."""
    envelope = town.ready()
    if case == "memo":
        envelope.transaction.memo = TextMemo("order 7")
    else:
        envelope.transaction.source = MuxedAccount(town.facilitator.public_key, 7)
    envelope.signatures.clear()
    envelope.sign(town.facilitator)
    assert refused(town, envelope) == "txSOROBAN_INVALID"


@pytest.mark.parametrize(
    ("bounds", "code"),
    [((0, NOW - 1), "txTOO_LATE"), ((NOW + 1, 0), "txTOO_EARLY")],
)
def test_time_bounds_are_those_of_the_last_close(town: Town, bounds: tuple[int, int], code: str) -> None:
    assert refused(town, town.ready(bounds=bounds)) == code


def test_a_transaction_that_became_too_late_leaves_no_trace(town: Town) -> None:
    sent = town.send(town.ready(bounds=(0, NOW + 4)))
    town.state.close()
    assert (sent["status"], town.get(sent["hash"])["status"]) == ("PENDING", "NOT_FOUND")
    assert town.send(town.ready())["status"] == "PENDING"


def test_a_transaction_signed_by_another_key_is_refused(town: Town) -> None:
    assert refused(town, town.ready(signer=Keypair.random())) == "txBAD_AUTH"


def test_a_needless_signature_is_refused(town: Town) -> None:
    envelope = town.ready()
    envelope.sign(Keypair.random())
    assert refused(town, envelope) == "txBAD_AUTH_EXTRA"


def test_a_transaction_for_another_network_is_refused(town: Town) -> None:
    """The hash covers the network, so the signature does not fit."""
    envelope = TransactionEnvelope(town.ready().transaction, Network.PUBLIC_NETWORK_PASSPHRASE)
    envelope.sign(town.facilitator)
    assert result_code(town.send(envelope)["errorResultXdr"]) == "txBAD_AUTH"


def test_an_unknown_source_is_refused(town: Town) -> None:
    assert refused(town, town.ready(source=Keypair.random())) == "txNO_ACCOUNT"


def test_a_source_without_money_is_refused(town: Town) -> None:
    poor = Keypair.random()
    town.state.fund(poor.public_key, xlm="0.0001")
    assert refused(town, town.ready(source=poor)) == "txINSUFFICIENT_BALANCE"


def test_a_fee_below_the_minimum_is_refused(town: Town) -> None:
    assert refused(town, town.ready(fee=99)) == "txINSUFFICIENT_FEE"


def test_resources_below_the_simulated_ones_are_refused(town: Town) -> None:
    call = town.transfer()
    entry = town.authorize(call)
    data = changed(town.data(call, entry), 19_999)
    assert refused(town, town.settlement(call, [entry], data=data)) == "txSOROBAN_INVALID"


def test_a_call_without_soroban_data_is_malformed(town: Town) -> None:
    envelope = town.ready()
    envelope.transaction.soroban_data = None
    envelope.signatures.clear()
    envelope.sign(town.facilitator)
    assert refused(town, envelope) == "txMALFORMED"


def test_the_refusal_inside_a_fee_bump_says_so(town: Town) -> None:
    """A wrong signature of the sponsor is the outer result, a wrong sequence the inner one."""
    sponsor = Keypair.random()
    town.state.fund(sponsor.public_key)
    inner = town.ready(sequence=5)
    outer = TransactionBuilder.build_fee_bump_transaction(sponsor, 30_000, inner, town.passphrase)
    assert refused(town, outer) == "txBAD_AUTH"
    outer.sign(sponsor)
    assert refused(town, outer) == "txFEE_BUMP_INNER_FAILED"


def test_the_same_transaction_twice_is_a_duplicate_while_it_waits(town: Town) -> None:
    envelope = town.ready()
    assert [town.send(envelope)["status"] for _ in range(2)] == ["PENDING", "DUPLICATE"]
    town.state.close()
    assert len(town.state.transfers) == 1


def test_an_account_has_one_transaction_in_the_queue(town: Town) -> None:
    """Channel accounts exist because of this; facts B4.5."""
    town.send(town.ready())
    second = town.ready(amount=2)
    reply = town.send(second)
    assert reply["status"] == "TRY_AGAIN_LATER"
    assert "errorResultXdr" not in reply


@pytest.mark.parametrize("text", ["", "AAAA", "not base64!", "AAAAAgAA" * 40])
def test_garbage_is_an_error_of_the_request(town: Town, text: str) -> None:
    with pytest.raises(InvalidParams):
        town.rpc.call("sendTransaction", {"transaction": text})


def test_an_automatic_chain_closes_by_its_clock() -> None:
    """Looking is enough: no thread, no sleep."""
    clock = FakeClock()
    town = Town(ChainState(clock=clock))
    sent = town.send(town.ready())
    clock.now += 4.9
    assert town.get(sent["hash"])["status"] == "NOT_FOUND"
    clock.now += 0.1
    assert town.get(sent["hash"])["status"] == "SUCCESS"
    clock.now += 50
    town.state.tick()
    assert town.ledger == 1_000_030


def test_closing_an_automatic_chain_by_hand_moves_its_time_on() -> None:
    """Otherwise the chain would stand still until the clock caught up."""
    clock = FakeClock()
    state = ChainState(clock=clock)
    state.close(100)
    clock.now += 5
    state.tick()
    assert state.latest.sequence == 1_000_019 + 101
    assert state.now() == state.latest.closed_at
