"""A buyer signs one payment for a call and holds on to it, whatever the seller answers."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from provider.client import Buyer
from provider.client.errors import CallRefused, NoAcceptableOffer, NoAnswer, PaymentRefused
from provider.payments.headers import decode_payment_signature, encode_payment_response
from provider.payments.schemas import settlement_response
from tests.support.localnet import LocalNet, running_localnet
from tests.support.seller import DROP, Seller, job, problem, running_seller

MOVED = {"Location": "/jobs/qr-code.1", "Retry-After": "0"}
HASH = "ab" * 32


@pytest.fixture(scope="module")
def net() -> Iterator[LocalNet]:
    with running_localnet(manual=True) as network:
        yield network


@pytest.fixture
def seller(net: LocalNet) -> Iterator[Seller]:
    with running_seller() as server:
        server.offer(net.requirements())
        yield server


class FakeTime:
    """A clock that moves on when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def clock(self) -> float:
        return self.now


@pytest.fixture
def buyer(net: LocalNet) -> Buyer:
    time = FakeTime()
    return Buyer(net.buyer, net.chain.url, sleep=time.sleep, clock=time.clock)


def buy(buyer: Buyer, seller: Seller, **options: Any) -> Any:
    return buyer.buy(f"{seller.url}/run/x", {"text": "hi"}, **options)


def test_a_call_is_paid_and_brings_its_output(buyer: Buyer, seller: Seller, net: LocalNet) -> None:
    receipt = settlement_response(success=True, network="stellar:testnet", transaction=HASH)
    seller.paid = [
        job("succeeded", output=42, headers={"PAYMENT-RESPONSE": encode_payment_response(receipt)})
    ]
    purchase = buy(buyer, seller)
    assert (purchase.succeeded, purchase.output, purchase.transaction) == (True, 42, HASH)
    assert [bool(request["payment"]) for request in seller.seen] == [False, True]
    assert {request["body"] for request in seller.seen} == {b'{"text": "hi"}'}


def test_a_service_that_wants_no_money_gets_none(buyer: Buyer, seller: Seller) -> None:
    seller.unpaid = [(200, {}, {"free": True})]
    purchase = buy(buyer, seller)
    assert (purchase.offer, purchase.body) == (None, {"free": True})


@pytest.mark.parametrize(
    "trouble", [DROP, problem(502), problem(503), problem(504), problem(500), problem(429)]
)
def test_the_same_payment_is_sent_again_while_there_is_no_job(
    buyer: Buyer, seller: Seller, trouble: Any
) -> None:
    seller.paid = [trouble, trouble, *seller.paid]
    assert buy(buyer, seller).succeeded
    assert len(seller.payments) == 3
    assert len(set(seller.payments)) == 1


def test_a_job_is_followed_where_it_is(buyer: Buyer, seller: Seller) -> None:
    waiting = [job("queued", 202, MOVED), job("running", 202, MOVED), job("payment_uncertain", 202, MOVED)]
    seller.paid = [*waiting, *seller.paid]
    assert buy(buyer, seller).succeeded
    assert [request["path"] for request in seller.seen[2:]] == ["/jobs/qr-code.1"] * 3
    assert len(seller.payments) == 1


def test_a_job_that_is_not_where_it_was_is_found_by_its_payment(buyer: Buyer, seller: Seller) -> None:
    seller.paid = [job("queued", 202, MOVED), problem(404), *seller.paid]
    assert buy(buyer, seller).succeeded
    assert len(set(seller.payments)) == 1


def test_a_payment_that_is_refused_is_not_followed_by_another_one(buyer: Buyer, seller: Seller) -> None:
    seller.paid = [(402, {}, {"error": "invalid_exact_stellar_payload_simulation_failed"})]
    with pytest.raises(PaymentRefused, match="simulation_failed"):
        buy(buyer, seller)
    assert len(seller.payments) == 1


@pytest.mark.parametrize(
    ("status", "http"), [("failed", 500), ("failed", 504), ("failed", 402), ("cancelled", 409)]
)
def test_a_job_that_failed_is_a_result(buyer: Buyer, seller: Seller, status: str, http: int) -> None:
    seller.paid = [job(status, http, error={"code": "service_failed", "charged": False})]
    purchase = buy(buyer, seller)
    assert (purchase.final, purchase.succeeded) == (True, False)
    assert len(seller.payments) == 1


def test_a_wrong_call_is_told_with_its_reason(buyer: Buyer, seller: Seller) -> None:
    seller.paid = [problem(400, "text is missing")]
    with pytest.raises(CallRefused, match="text is missing"):
        buy(buyer, seller)


def test_a_full_lane_is_asked_again_before_anything_is_signed(buyer: Buyer, seller: Seller) -> None:
    seller.unpaid = [problem(503), *seller.unpaid]
    assert buy(buyer, seller).succeeded
    assert len(seller.seen) == 3


def test_waiting_ends_with_the_job_as_it_was_seen_last(buyer: Buyer, seller: Seller) -> None:
    seller.paid = [job("running", 202, {**MOVED, "Retry-After": "5"})]
    purchase = buy(buyer, seller, wait=60)
    assert (purchase.final, purchase.job["status"]) == (False, "running")
    assert purchase.location == f"{seller.url}/jobs/qr-code.1"


def test_silence_after_paying_hands_over_the_payment_to_send_again(buyer: Buyer, seller: Seller) -> None:
    answers, seller.paid = seller.paid, [DROP]
    with pytest.raises(NoAnswer) as caught:
        buy(buyer, seller, wait=30)
    seller.paid = answers
    assert buyer.resume(f"{seller.url}/run/x", {"text": "hi"}, caught.value.header).succeeded
    assert set(seller.payments) == {caught.value.header}


def test_a_request_is_held_for_as_long_as_routers_allow(buyer: Buyer, seller: Seller) -> None:
    buy(buyer, seller, wait=600)
    buy(buyer, seller, wait=7)
    assert [request["prefer"] for request in seller.seen] == ["wait=25"] * 2 + ["wait=7"] * 2


def test_a_payment_does_not_follow_a_redirect(buyer: Buyer, seller: Seller) -> None:
    seller.paid = [(307, {"Location": "/elsewhere"}, None)]
    with pytest.raises(CallRefused, match="307"):
        buy(buyer, seller)
    assert "/elsewhere" not in {request["path"] for request in seller.seen}


def test_the_cheapest_acceptable_offer_is_taken(buyer: Buyer, seller: Seller, net: LocalNet) -> None:
    dear, cheap = net.requirements(2_000_000), net.requirements(1_000_000)
    foreign = net.requirements(1, network="eip155:8453")
    seller.offer(foreign, dear, cheap)
    assert buy(buyer, seller).offer == cheap


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"amount": 10_000_001}, "more than the limit of 1"),
        ({"amount": 10**38}, "more than the limit of 1"),
        ({"network": "stellar:pubnet"}, "not what this buyer pays with"),
        ({"scheme": "upto"}, "not what this buyer pays with"),
        ({"asset": "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"}, "token"),
        ({"extra": {}}, "fees are not sponsored"),
    ],
)
def test_an_offer_beyond_the_limits_is_not_signed(
    buyer: Buyer, seller: Seller, net: LocalNet, changes: dict[str, Any], why: str
) -> None:
    """Red for the price of 39 digits, at which the buyer ended with an error of the decimal module."""
    seller.offer(net.requirements(**changes))
    with pytest.raises(NoAcceptableOffer, match=why):
        buy(buyer, seller, max_price=Decimal(1))
    assert seller.payments == []


def test_a_payment_is_named_where_the_seller_understands_names(
    buyer: Buyer, seller: Seller, net: LocalNet
) -> None:
    declared = {"payment-identifier": {"info": {"required": False}, "schema": {}}}
    seller.offer(net.requirements(), extensions=declared)
    buy(buyer, seller)
    named = decode_payment_signature(seller.payments[0]).extensions["payment-identifier"]
    assert named["info"]["id"].startswith("pay_")
    assert named["schema"] == {}


def test_a_seller_who_is_not_there_is_not_waited_for(buyer: Buyer, seller: Seller) -> None:
    """Nothing was signed yet, so nothing is lost by giving up."""
    seller.unpaid = [DROP]
    with pytest.raises(CallRefused, match="nobody answers"):
        buy(buyer, seller, wait=120)
    assert len(seller.seen) == 5
