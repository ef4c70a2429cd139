"""Our parts and the official npm packages on one chain: each verifies and settles for the other."""

from typing import Any

import pytest

from provider.payments.models import PaymentPayload
from provider.payments.schemas import dump_payload, dump_requirements, load_payload
from tests.interop.conftest import OFFICIAL_FACILITATOR
from tests.interop.node import Node
from tests.support.localnet import PRICE, LocalNet

pytestmark = pytest.mark.slow


@pytest.fixture
def ours(net: LocalNet) -> PaymentPayload:
    """A payment signed by our payer."""
    return net.payment(ledger_seconds=1)


@pytest.fixture
def theirs(net: LocalNet, node: Node) -> PaymentPayload:
    """A payment signed by the official client."""
    signed = node.run("sign.mjs", stdin=dump_requirements(net.requirements()))
    return load_payload(signed)


def official(node: Node, action: str, payment: PaymentPayload) -> Any:
    """Ask the official facilitator."""
    offer = dump_requirements(payment.accepted)
    request = {"action": action, "paymentPayload": dump_payload(payment), "paymentRequirements": offer}
    return node.run("facilitator.mjs", stdin=request)


def test_the_official_client_signs_what_our_facilitator_settles(
    net: LocalNet, theirs: PaymentPayload
) -> None:
    assert net.verify(theirs) == {"isValid": True, "payer": net.buyer.public_key}
    assert net.settle(theirs)["success"] is True
    assert net.received == PRICE


def test_the_official_facilitator_verifies_what_our_payer_signs(
    net: LocalNet, node: Node, ours: PaymentPayload
) -> None:
    assert official(node, "verify", ours) == {"isValid": True, "payer": net.buyer.public_key}


def test_the_official_facilitator_settles_what_our_payer_signs(
    net: LocalNet, node: Node, ours: PaymentPayload
) -> None:
    answer = official(node, "settle", ours)
    assert (answer["success"], answer["transaction"]) == (True, net.sent[0])
    assert net.state.applied[0].envelope.source == OFFICIAL_FACILITATOR.public_key
    assert net.received == PRICE


def test_both_facilitators_refuse_a_payment_that_was_used(
    net: LocalNet, node: Node, ours: PaymentPayload
) -> None:
    net.settle(ours)
    verdicts = [official(node, "verify", ours), net.verify(ours)]
    used = "invalid_exact_stellar_payload_simulation_failed"
    assert {verdict["invalidReason"] for verdict in verdicts} == {used}


def test_what_the_official_facilitator_settled_is_not_called_unpaid_by_ours(
    net: LocalNet, node: Node, ours: PaymentPayload
) -> None:
    assert official(node, "settle", ours)["success"] is True
    assert net.settle(ours)["errorReason"] == "settlement_pending"
    assert net.received == PRICE
