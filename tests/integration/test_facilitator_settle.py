"""Settling on a real chain, when everything goes well and when it does not."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import Keypair, TransactionEnvelope, xdr

from provider.facilitator.channels import Channels
from provider.payments.models import PaymentPayload
from provider.payments.settlement import FacilitatorAnswer, SettleKind, classify
from tests.support.localnet import PRICE, LocalNet, running_localnet

SIMULATION_FAILED = "invalid_exact_stellar_payload_simulation_failed"


@pytest.fixture
def net(tmp_path: Path) -> Iterator[LocalNet]:
    with running_localnet(tmp_path) as network:
        yield network


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[LocalNet]:
    """A network that closes ledgers when told, and a facilitator that does not wait long for it."""
    with running_localnet(tmp_path, manual=True, wait_seconds=0.5) as network:
        yield network


def kind(answer: dict[str, Any], net: LocalNet) -> SettleKind:
    """What the provider makes of an answer."""
    found = FacilitatorAnswer(200, answer)
    return classify(found, network="stellar:testnet", payer=net.buyer.public_key).kind


def submitted(net: LocalNet) -> TransactionEnvelope:
    applied = net.state.applied[-1].envelope.body
    return TransactionEnvelope.from_xdr(applied.to_xdr(), net.state.config.passphrase)


def with_resource_fee(payment: PaymentPayload, fee: int) -> PaymentPayload:
    """Ask in the envelope's data for more than the fee of the envelope says."""
    raw = xdr.TransactionEnvelope.from_xdr(payment.transaction)
    assert raw.v1 is not None
    assert raw.v1.tx.ext.soroban_data is not None
    raw.v1.tx.ext.soroban_data.resource_fee = xdr.Int64(fee)
    return PaymentPayload(payment.accepted, base64.b64encode(raw.to_xdr_bytes()).decode())


@pytest.mark.parametrize("credentials", ["v1", "v2"])
def test_a_payment_settles_once_and_the_answer_says_so(net: LocalNet, credentials: str) -> None:
    answer = net.settle(net.payment(credentials=credentials))
    assert answer["success"] is True
    assert kind(answer, net) is SettleKind.SETTLED
    assert net.sent == [answer["transaction"]]
    assert net.received == PRICE


def test_settling_again_tells_the_same_and_sends_nothing(net: LocalNet) -> None:
    payment = net.payment()
    first = net.settle(payment)
    assert net.settle(payment) == first
    assert len(net.sent) == 1


def test_a_contract_payer_settles(net: LocalNet) -> None:
    wallet = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC"
    net.state.fund(wallet, "10", signer=net.buyer.public_key)
    answer = net.settle(net.payment_of(wallet, net.buyer))
    assert (answer["success"], answer["payer"]) == (True, wallet)


def test_a_refused_payment_is_not_sent_and_classified_as_unpaid(net: LocalNet) -> None:
    payment = net.payment()
    answer = net.settle(payment, net.requirements(amount=PRICE + 1))
    assert answer["errorReason"] == "invalid_exact_stellar_payload_wrong_amount"
    assert kind(answer, net) is SettleKind.REFUSED
    assert net.sent == []


def test_the_buyers_fee_and_footprint_are_never_signed(net: LocalNet) -> None:
    payment = with_resource_fee(net.payment(), 1_000_000_000)
    assert net.settle(payment)["success"] is True
    signed = submitted(net).transaction
    assert signed.fee <= net.config().max_fee
    assert signed.soroban_data is not None
    assert signed.soroban_data.resource_fee.int64 == 20_000


def test_a_transaction_that_would_cost_more_than_the_cap_is_not_signed(tmp_path: Path) -> None:
    with running_localnet(tmp_path, max_fee=20_500, inclusion_fee=600) as net:
        answer = net.settle(net.payment())
        assert answer["errorReason"] == "invalid_exact_stellar_payload_fee_exceeds_maximum"
        assert net.sent == []


def test_the_time_bounds_are_our_own_and_follow_the_chains_clock(net: LocalNet) -> None:
    net.settle(net.payment())
    bounds = submitted(net).transaction.preconditions
    assert bounds is not None
    assert bounds.time_bounds is not None
    assert 0 < bounds.time_bounds.max_time - net.state.latest.closed_at <= net.config().valid_seconds


def test_eight_requests_for_one_payment_make_one_transaction(net: LocalNet) -> None:
    answers = net.settle_many([net.payment()] * 8)
    assert all(answer == answers[0] for answer in answers)
    assert net.sent == [answers[0]["transaction"]]


def test_two_payments_share_one_channel_by_turns(net: LocalNet) -> None:
    answers = net.settle_many([net.payment(), net.payment()])
    assert [answer["success"] for answer in answers] == [True, True]
    assert net.received == 2 * PRICE


def test_many_payments_at_once_use_all_channels_and_none_fails(tmp_path: Path) -> None:
    with running_localnet(tmp_path, channels=4) as net:
        answers = net.settle_many([net.payment() for _ in range(20)])
        assert {answer["success"] for answer in answers} == {True}
        assert len({item.envelope.source for item in net.state.applied}) == 4


def test_without_a_free_channel_nothing_is_sent_and_the_answer_says_so(slow: LocalNet) -> None:
    first, second = slow.payment(), slow.payment()
    assert slow.settle(first)["errorReason"] == "settlement_pending"
    answer = slow.settle(second)
    assert answer["errorReason"] == "settle_exact_stellar_signer_selection_failed"
    assert answer["transaction"] == ""
    assert len(slow.sent) == 1


def test_a_channel_is_leased_to_one_at_a_time() -> None:
    channels = Channels([Keypair.random()])
    leased = channels.lease(0)
    assert leased is not None
    assert channels.lease(0) is None
    channels.release(leased.address)
    assert channels.lease(0) is leased


def test_what_does_not_confirm_in_time_is_pending_with_its_hash(slow: LocalNet) -> None:
    answer = slow.settle(slow.payment())
    assert (answer["success"], answer["errorReason"]) == (False, "settlement_pending")
    assert answer["transaction"] == slow.sent[0]
    assert kind(answer, slow) is SettleKind.UNCERTAIN


def test_a_pending_payment_is_settled_when_asked_again_after_the_ledger_closed(slow: LocalNet) -> None:
    payment = slow.payment()
    pending = slow.settle(payment)
    slow.state.close()
    answer = slow.settle(payment)
    assert (answer["success"], answer["transaction"]) == (True, pending["transaction"])
    assert len(slow.sent) == 1


def test_a_nonce_that_somebody_else_used_is_invalid_but_never_refused_by_settle(
    net: LocalNet, tmp_path: Path
) -> None:
    payment = net.payment()
    net.settle(payment)
    net.facilitator.stop()
    net.start_facilitator(state_dir=tmp_path / "forgot everything")
    assert net.verify(payment)["invalidReason"] == SIMULATION_FAILED
    answer = net.settle(payment)
    assert answer["errorReason"] == "settlement_pending"
    assert kind(answer, net) is SettleKind.UNCERTAIN


def test_a_settled_payment_vouches_for_nothing_else(net: LocalNet) -> None:
    payment = net.payment()
    net.settle(payment)
    other = net.requirements(pay_to=net.buyer.public_key)
    assert net.settle(payment, other)["errorReason"] == SIMULATION_FAILED
