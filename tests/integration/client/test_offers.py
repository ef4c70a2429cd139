"""What a seller offers is judged before anything is signed (issue: "our buyer meets other sellers")."""

from typing import Any

import pytest

from provider.client import Buyer
from provider.client.errors import CallRefused, NoAcceptableOffer
from provider.client.offers import MOST_AMOUNT
from provider.networks import PUBNET, USDC
from provider.payments.headers import decode_object
from provider.payments.schemas import dump_requirements
from tests.support.localnet import LocalNet
from tests.support.seller import Seller


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


MUXED = "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ"
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "amount 0": ({"amount": "0"}, "an amount of 0 pays for nothing"),
    "over the limit": ({"amount": "10000001"}, "1.0000001 is more than the limit of 1"),
    "2^127": ({"amount": str(2**127)}, "more than a transfer can move"),
    "39 digits": ({"amount": "9" * 39}, "more than a transfer can move"),
    "a negative amount": ({"amount": "-1"}, "an offer cannot be read"),
    "a number for an amount": ({"amount": 10}, "an offer cannot be read"),
    "another network": ({"network": PUBNET}, "not what this buyer pays with"),
    "no text for a network": ({"network": {"a": 1}}, "not what this buyer pays with"),
    "another scheme": ({"scheme": "upto"}, "not what this buyer pays with"),
    "a token of another network": ({"asset": USDC[PUBNET]}, "is not accepted"),
    "a token of another kind": ({"asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e"}, "is no contract"),
    "a payee of another kind": (
        {"payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"},
        "neither an account",
    ),
    "a payee with a typing error": ({"payTo": "G" + "A" * 55}, "neither an account"),
    "a muxed payee": ({"payTo": MUXED}, "neither an account"),
    "fees not sponsored": ({"extra": {}}, "fees are not sponsored"),
    "an unknown flow": (
        {"extra": {"areFeesSponsored": True, "paymentFlow": "escrow"}},
        "the payment flow escrow is unknown",
    ),
    "a flow of another type": (
        {"extra": {"areFeesSponsored": True, "paymentFlow": ["upfront"]}},
        "the payment flow",
    ),
    "a payment for decades": ({"maxTimeoutSeconds": 2**31}, "is not signed"),
    "deep JSON": ({"extra": {"areFeesSponsored": True, "x": deep(60)}}, "nested deeper"),
    "deeper JSON": ({"extra": {"areFeesSponsored": True, "x": deep(200)}}, "nested deeper"),
}


def bad_offer(net: LocalNet, name: str) -> dict[str, Any]:
    return {**dump_requirements(net.requirements(1)), **BAD[name][0]}


def buy(buyer: Buyer, seller: Seller) -> Any:
    return buyer.buy(f"{seller.url}/run/x", {"text": "hi"})


@pytest.mark.parametrize("name", BAD)
def test_a_bad_offer_is_refused_with_a_sentence(
    buyer: Buyer, seller: Seller, net: LocalNet, name: str
) -> None:
    """Red before for amount 0 (it was paid), 2^127, payees and flows of another kind, and deep JSON."""
    seller.offer_wire([bad_offer(net, name)])
    with pytest.raises(NoAcceptableOffer) as caught:
        buy(buyer, seller)
    assert BAD[name][1] in caught.value.detail
    assert seller.payments == []


@pytest.mark.parametrize("name", BAD)
def test_a_bad_offer_beside_a_good_one_does_no_harm(
    buyer: Buyer, seller: Seller, net: LocalNet, name: str
) -> None:
    """Red before: a bad offer that was cheaper was chosen, and one that could not be read spoiled all."""
    good = net.requirements(2)
    seller.offer_wire([bad_offer(net, name), 7, dump_requirements(good)])
    assert buy(buyer, seller).payment.amount == 2


def test_the_largest_amount_of_a_transfer_is_refused_by_the_limit_alone(
    buyer: Buyer, seller: Seller, net: LocalNet
) -> None:
    seller.offer_wire([{**dump_requirements(net.requirements()), "amount": str(MOST_AMOUNT)}])
    with pytest.raises(NoAcceptableOffer, match="limit"):
        buy(buyer, seller)


def test_the_cheapest_acceptable_offer_is_taken(buyer: Buyer, seller: Seller, net: LocalNet) -> None:
    dear, cheap = net.requirements(2_000_000), net.requirements(1_000_000)
    seller.offer(net.requirements(1, network="eip155:8453"), dear, cheap)
    assert buy(buyer, seller).payment.amount == cheap.amount


@pytest.mark.parametrize(
    ("header", "body", "why"),
    [
        ("%%%", {}, "cannot be read"),
        ("e30=", {}, "x402 version"),
        (None, b"<html>pay</html>", "cannot be read"),
        (None, {"x402Version": 1, "accepts": []}, "version 1"),
        (None, {"x402Version": 2, "accepts": {}}, "no list"),
        (None, b'{"x402Version": 2, "accepts": ' + b"[" * 100_000, "nested deeper"),
    ],
)
def test_a_402_that_is_no_offer_is_refused_with_a_sentence(
    buyer: Buyer, seller: Seller, header: str | None, body: Any, why: str
) -> None:
    seller.unpaid = [(402, {"PAYMENT-REQUIRED": header} if header else {}, body)]
    with pytest.raises(CallRefused, match=why):
        buy(buyer, seller)


def test_what_the_seller_sent_is_sent_back_unchanged(buyer: Buyer, seller: Seller, net: LocalNet) -> None:
    """Red before: `accepted` lost the fields that only the seller knows, and the bazaar echo was dropped."""
    offer = {**dump_requirements(net.requirements()), "extra": {"areFeesSponsored": True, "of": "mine"}}
    offer |= {"unknown": {"field": [1, 2.5]}, "outputSchema": None}
    extensions = {"bazaar": {"info": {"input": {"type": "http"}}, "schema": {}}, "mine": [1]}
    resource = {"url": f"{seller.url}/run/x", "description": "x", "tags": ["a"]}
    seller.offer_wire([offer], extensions=extensions, resource=resource)
    buy(buyer, seller)
    sent = decode_object(seller.payments[0])
    assert (sent["accepted"], sent["extensions"], sent["resource"]) == (offer, extensions, resource)


def test_extensions_that_no_header_can_hold_are_refused_before_anything_is_signed(
    buyer: Buyer, seller: Seller, net: LocalNet
) -> None:
    body = {
        "x402Version": 2,
        "accepts": [dump_requirements(net.requirements())],
        "extensions": {"x": "y" * 20_000},
    }
    seller.unpaid = [(402, {}, body)]
    with pytest.raises(NoAcceptableOffer, match="header"):
        buy(buyer, seller)
