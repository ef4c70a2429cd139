"""Limits, approval and the journal stand between an offer and a signature."""

import json
from pathlib import Path
from typing import Any

import pytest

from provider.client import Journal, Limits, Quote
from provider.client.errors import (
    CallRefused,
    CannotSign,
    LimitReached,
    NoAcceptableOffer,
    NotApproved,
    PaymentRefused,
)
from provider.networks import PUBNET
from tests.integration.client.conftest import MakeBuyer
from tests.support.localnet import LocalNet
from tests.support.seller import DROP, Seller, problem, settled

REFUSED = (402, {}, {"error": "invalid_exact_stellar_payload_wrong_amount"})


def buy(buyer: Any, seller: Seller, **options: Any) -> Any:
    return buyer.buy(f"{seller.url}/run/x", {"text": "hi"}, **options)


@pytest.mark.parametrize("answer", [False, None, 1, "yes"])
def test_only_true_approves(make_buyer: MakeBuyer, seller: Seller, answer: Any) -> None:
    quotes: list[Quote] = []
    buyer = make_buyer(limits=Limits(approve=lambda quote: quotes.append(quote) or answer))
    with pytest.raises(NotApproved):
        buy(buyer, seller)
    assert (quotes[0].price, quotes[0].url, quotes[0].description) == ("0.001", f"{seller.url}/run/x", "x")
    assert seller.payments == []
    assert buyer.journal.entries() == []


def test_what_is_approved_is_paid(make_buyer: MakeBuyer, seller: Seller) -> None:
    assert buy(make_buyer(limits=Limits(approve=lambda quote: quote.price == "0.001")), seller).output == 42


@pytest.mark.parametrize("make_buyer", ["async"], indirect=True)
def test_a_coroutine_may_approve(make_buyer: MakeBuyer, seller: Seller) -> None:
    async def approve(quote: Quote) -> bool:
        return True

    assert buy(make_buyer(limits=Limits(approve=approve)), seller).output == 42


def test_a_seller_that_is_not_on_the_list_is_not_even_called(make_buyer: MakeBuyer, seller: Seller) -> None:
    with pytest.raises(LimitReached, match="not among the sellers"):
        buy(make_buyer(limits=Limits(origins=["https://seller.example"])), seller)
    assert seller.seen == []
    assert buy(make_buyer(limits=Limits(origins=[seller.url])), seller).output == 42


def test_a_payee_that_is_not_on_the_list_is_not_paid(
    make_buyer: MakeBuyer, seller: Seller, net: LocalNet
) -> None:
    with pytest.raises(NoAcceptableOffer, match="not among the payees"):
        buy(make_buyer(limits=Limits(payees=[net.buyer.public_key])), seller)
    assert buy(make_buyer(limits=Limits(payees=[net.seller.public_key])), seller).output == 42


def test_a_budget_counts_what_other_buyers_of_the_journal_spent(
    make_buyer: MakeBuyer, seller: Seller, tmp_path: Path
) -> None:
    options = {"journal": tmp_path / "payments.jsonl", "limits": Limits(total="0.002")}
    for _ in range(2):
        assert buy(make_buyer(**options), seller).output == 42
    with pytest.raises(LimitReached, match=r"of 0.002 in total, 0.002 is spent"):
        buy(make_buyer(**options), seller)
    assert len(set(seller.payments)) == 2


def test_a_payment_that_was_never_made_is_spent_no_more_once_the_chain_proves_it(
    make_buyer: MakeBuyer, seller: Seller, net: LocalNet
) -> None:
    buyer = make_buyer(limits=Limits(total="0.001"))
    answers, seller.paid = seller.paid, [REFUSED]
    with pytest.raises(PaymentRefused):
        buy(buyer, seller)
    seller.paid = answers
    with pytest.raises(LimitReached):
        buy(buyer, seller)
    net.state.close(14)
    assert buy(buyer, seller).output == 42


def test_without_a_journal_that_can_be_written_nothing_is_signed_away(
    make_buyer: MakeBuyer, seller: Seller, tmp_path: Path
) -> None:
    with pytest.raises(CannotSign, match="journal"):
        buy(make_buyer(journal=tmp_path / "missing" / "payments.jsonl"), seller)
    assert seller.payments == []


def test_a_file_of_receipts_on_a_full_disk_loses_no_delivery(make_buyer: MakeBuyer, seller: Seller) -> None:
    bought = buy(make_buyer(receipts="/dev/full"), seller)
    assert bought.output == 42
    assert "receipts" in bought.notes[0]


def test_receipts_are_lines_of_json_for_failures_too(
    make_buyer: MakeBuyer, seller: Seller, tmp_path: Path
) -> None:
    buyer = make_buyer(receipts=tmp_path / "receipts.jsonl")
    buy(buyer, seller)
    seller.paid = [problem(400)]
    with pytest.raises(CallRefused):
        buy(buyer, seller)
    lines = [json.loads(line) for line in (tmp_path / "receipts.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["delivered", "call_refused"]
    assert lines[0]["input"] == {"text": "hi"}
    assert [line["payment"]["header"] for line in lines] == seller.payments


@pytest.mark.parametrize("way", ["no balance", "another network", "no chain"])
def test_what_cannot_be_signed_costs_nothing(
    make_buyer: MakeBuyer, seller: Seller, net: LocalNet, way: str
) -> None:
    options: dict[str, Any] = {"limits": Limits(per_call=1000)}
    seller.offer(net.requirements(9_000_000_000))
    buyer = make_buyer(**options)
    if way == "another network":
        buyer = make_buyer(network=PUBNET, assets=[net.requirements().asset])
        seller.offer(net.requirements(network=PUBNET))
    if way == "no chain":
        net.chain.faults.add("rpc_down", mode="http500", count=1)
    with pytest.raises(CannotSign):
        buy(buyer, seller)
    assert seller.payments == []


def test_a_payment_is_in_the_journal_before_it_is_sent(
    make_buyer: MakeBuyer, seller: Seller, tmp_path: Path
) -> None:
    seen: list[list[str]] = []
    path = tmp_path / "payments.jsonl"
    seller.on_payment = lambda: seen.append([one.header for one in Journal(path).open_payments()])
    seller.paid = [DROP, (200, settled(), {})]
    buy(make_buyer(journal=path), seller)
    assert seen == [[header] for header in seller.payments]
    assert Journal(path).open_payments() == []
