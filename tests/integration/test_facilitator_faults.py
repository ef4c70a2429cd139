"""Settling over a network that loses replies, refuses for now, forgets, and fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.localnet import PRICE, LocalNet, eventually, running_localnet
from tests.support.payments import signed_payment

FAILED = "settle_exact_stellar_transaction_failed"


@pytest.fixture
def net(tmp_path: Path) -> Iterator[LocalNet]:
    with running_localnet(tmp_path, max_attempts=1) as network:
        yield network


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[LocalNet]:
    with running_localnet(tmp_path, manual=True, wait_seconds=0.5, max_attempts=1) as network:
        yield network


def test_a_lost_send_reply_is_pending_with_the_hash_and_settled_when_asked_again(slow: LocalNet) -> None:
    payment = slow.payment()
    slow.chain.faults.add("drop_send_reply")
    pending = slow.settle(payment)
    assert pending["errorReason"] == "settlement_pending"
    slow.state.close()
    settled = slow.settle(payment)
    assert (settled["success"], settled["transaction"]) == (True, pending["transaction"])
    assert slow.sent == [pending["transaction"]]


@pytest.mark.parametrize("ledgers", [1, 10])
def test_the_answer_to_the_copy_does_not_hide_that_the_first_one_landed(tmp_path: Path, ledgers: int) -> None:
    """It is TRY_AGAIN_LATER for ten ledgers, then an ERROR, since its sequence number is used."""
    with running_localnet(tmp_path, manual=True, poll_seconds=0.5) as net:
        net.chain.faults.add("drop_send_reply")
        answer = net.settling(net.payment())
        eventually(lambda: net.state.queue)
        net.state.close(ledgers)  # The copy comes now.
        assert answer.result()["success"] is True


@pytest.mark.parametrize("fault", ["drop_send_request", "try_again_later", "filtered"])
def test_what_the_network_did_not_take_is_sent_again(net: LocalNet, fault: str) -> None:
    net.chain.faults.add(fault, count=3)
    assert net.settle(net.payment())["success"] is True
    assert len(net.sent) == 1


def test_a_duplicate_is_polled_like_any_other(net: LocalNet) -> None:
    net.chain.faults.add("duplicate")
    assert net.settle(net.payment())["success"] is True


def test_a_transaction_that_the_network_forgot_is_sent_again(net: LocalNet) -> None:
    net.chain.faults.add("never_confirm")
    assert net.settle(net.payment())["success"] is True
    assert len(net.sent) == 1


def test_what_is_never_included_stays_pending_until_it_cannot_land(slow: LocalNet) -> None:
    payment = slow.payment()
    slow.chain.faults.add("never_confirm", count=None)
    pending = slow.settle(payment)
    slow.state.close(10)
    eventually(lambda: slow.facilitator.facilitator.health()["open"] == 0)
    assert slow.settle(payment) == {**pending, "errorMessage": slow.settle(payment)["errorMessage"]}
    slow.state.close(3)
    final = slow.settle(payment)
    assert (final["errorReason"], final["transaction"]) == (FAILED, pending["transaction"])
    assert slow.received == 0


def test_another_transaction_is_built_once_the_first_can_not_land(tmp_path: Path) -> None:
    with running_localnet(tmp_path, manual=True, wait_seconds=8, valid_seconds=5) as net:
        net.chain.faults.add("never_confirm")
        answer = net.settling(net.payment())
        eventually(lambda: net.facilitator.facilitator.health()["open"] == 1)
        net.state.close(3)
        eventually(lambda: net.state.queue)
        net.state.close()
        assert answer.result()["success"] is True
        assert net.received == PRICE


def test_a_failed_transaction_is_told_with_its_hash(net: LocalNet) -> None:
    net.chain.faults.add("fail_next")
    answer = net.settle(net.payment())
    assert (answer["success"], answer["errorReason"]) == (False, FAILED)
    assert answer["transaction"] == net.sent[0]
    assert net.received == 0


def test_a_failed_payment_may_be_settled_again_while_it_is_valid(tmp_path: Path) -> None:
    with running_localnet(tmp_path) as net:
        payment = net.payment()
        net.chain.faults.add("fail_next")
        assert net.settle(payment)["errorReason"] == FAILED
        assert net.settle(payment)["success"] is True
        assert (len(net.sent), net.received) == (2, PRICE)


def test_a_nonce_belongs_to_the_transfer_it_was_first_sent_for(tmp_path: Path) -> None:
    with running_localnet(tmp_path) as net:
        offers, expiration = (net.requirements(1), net.requirements(2)), net.state.latest.sequence + 10
        first, second = (signed_payment(offer, net.buyer, expiration, nonce=7) for offer in offers)
        net.chain.faults.add("fail_next")
        assert net.settle(first)["errorReason"] == FAILED
        assert net.settle(second)["errorReason"] == "invalid_exact_stellar_payload_simulation_failed"
        assert len(net.sent) == 1


def test_attempts_that_cost_a_fee_are_limited(tmp_path: Path) -> None:
    with running_localnet(tmp_path, max_attempts=2) as net:
        payment = net.payment()
        net.chain.faults.add("fail_next", count=5)
        answers = [net.settle(payment) for _ in range(5)]
        assert {answer["errorReason"] for answer in answers} == {FAILED}
        assert len(net.sent) == 2


def test_a_node_that_is_away_for_a_moment_delays_a_settlement(net: LocalNet) -> None:
    payment = net.payment()
    net.chain.faults.add("rpc_down", count=5)
    assert net.settle(payment)["success"] is True


@pytest.mark.parametrize("fault", ["processing_limit", "queue_limit", "database_error"])
@pytest.mark.parametrize("method", ["getHealth", "simulateTransaction", "getLedgerEntries", "getTransaction"])
def test_an_error_of_one_method_delays_a_settlement(net: LocalNet, fault: str, method: str) -> None:
    """None of them says anything about the payment."""
    payment = net.payment()
    net.chain.faults.add(fault, method=method, count=3)
    assert net.settle(payment)["success"] is True
    assert len(net.sent) == 1


def test_a_node_that_stays_away_before_anything_is_sent_is_said_so(slow: LocalNet) -> None:
    payment = slow.payment()
    slow.chain.faults.add("rpc_down")
    answer = slow.settle(payment)
    assert (answer["errorReason"], answer["transaction"]) == ("unexpected_settle_error", "")
    assert slow.sent == []


def test_a_facilitator_without_money_is_told_that_nothing_was_sent(net: LocalNet) -> None:
    payment = net.payment()
    net.change_account(stroops=0)
    answer = net.settle(payment)
    assert answer["errorReason"] == "settle_exact_stellar_transaction_submission_failed"
    assert (answer["transaction"], net.sent) == ("", [])


def test_a_node_that_lags_does_not_make_us_use_a_sequence_number_twice(net: LocalNet) -> None:
    assert net.settle(net.payment())["success"] is True
    net.chain.faults.add("lag", ledgers=3, method="getLedgerEntries", count=1)
    assert net.settle(net.payment())["success"] is True


def test_a_sequence_number_that_somebody_else_used_is_read_again(tmp_path: Path) -> None:
    with running_localnet(tmp_path) as net:
        net.change_account(sequence=7)
        net.chain.faults.add("lag", ledgers=3, method="getLedgerEntries", count=1)
        assert net.settle(net.payment())["success"] is True
