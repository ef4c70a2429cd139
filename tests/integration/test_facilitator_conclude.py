"""What a facilitator concludes from a nonce entry that is there, is not there, or may have been there."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from provider.payments.models import PaymentPayload
from tests.support.localnet import LocalNet, eventually, running_localnet
from tests.support.strangers import land, touch_nonce

VALID = 12
UNUSED = "expired unused"


@pytest.fixture
def net(tmp_path: Path) -> Iterator[LocalNet]:
    with running_localnet(tmp_path, manual=True, wait_seconds=0.3, max_attempts=1) as network:
        yield network


def sent(net: LocalNet) -> PaymentPayload:
    """Settle a payment in a transaction that no ledger will ever include.

    A busy machine may take longer than the facilitator waits, and is asked again then.
    """
    payment = net.payment()
    net.chain.faults.add("never_confirm", count=None)
    eventually(lambda: net.settle(payment)["errorReason"] == "settlement_pending")
    return payment


def expire(net: LocalNet) -> None:
    """Let the payment and the time bounds of its transaction pass."""
    net.state.close(VALID + 1)
    eventually(lambda: net.facilitator.facilitator.health()["open"] == 0)
    net.chain.faults.clear("never_confirm")


def test_an_absent_entry_proves_for_as_long_as_the_network_keeps_it(net: LocalNet) -> None:
    """Testnet keeps it for 720 ledgers. Was red: the facilitator counted 17 280, pubnet's number."""
    payment = sent(net)
    expire(net)
    net.state.close(719 - (VALID + 1))
    last = net.settle(payment)
    assert (last["errorReason"], UNUSED in last["errorMessage"]) == (
        "settle_exact_stellar_transaction_failed",
        True,
    )
    net.state.close()
    after = net.settle(payment)
    assert (after["errorReason"], "does not prove" in after["errorMessage"]) == ("settlement_pending", True)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda net: net.chain.faults.add("hide_settings"),
        lambda net: net.state.set_min_temporary_ttl(17_280),
    ],
    ids=["not served", "raised since"],
)
def test_nothing_is_proven_by_a_setting_that_is_not_known(
    net: LocalNet, spoil: Callable[[LocalNet], None]
) -> None:
    """One that was raised says nothing about an entry made before. Was red: no setting was read."""
    payment = sent(net)
    net.state.close()
    spoil(net)  # Before the facilitator looks: what it found while it could read is final.
    expire(net)
    assert net.settle(payment)["errorReason"] == "settlement_pending"


def test_an_entry_that_a_stranger_touched_is_still_a_used_one(net: LocalNet) -> None:
    """Its last write lies after the expiration then."""
    payment = sent(net)
    land(net.state, payment.transaction)
    expire(net)
    (transfer,) = net.state.transfers
    assert transfer.nonce is not None
    touch_nonce(net.state, transfer.sender, transfer.nonce)
    answer = net.settle(payment)
    assert answer["errorReason"] == "settlement_pending"
    assert "not ours" in answer["errorMessage"]
