"""Our buyer at an ordinary x402 seller: the PyPI package's Flask middleware, unmodified."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import StrKey

from provider.client import Buyer, Journal, Paid, Signer
from provider.client.errors import AnswerMissing, NoAnswer
from tests.integration.client.conftest import MakeBuyer
from tests.support.localnet import PRICE, LocalNet, running_localnet
from tests.support.seller import DROP, HASH, Seller, problem, settled

pytest.importorskip("x402.http.middleware.flask")

from tests.support.stranger_seller import StrangerSeller, running_stranger

PNG = b"\x89PNG\r\n\x1a\n\x00\xff"


@pytest.fixture(scope="module")
def quick() -> Iterator[LocalNet]:
    """A chain that closes ledgers by itself."""
    with running_localnet(close_seconds=0.2) as network:
        yield network


@pytest.fixture
def stranger(quick: LocalNet) -> Iterator[StrangerSeller]:
    with running_stranger(quick) as seller:
        yield seller


@pytest.fixture
def buyer(quick: LocalNet, tmp_path: Path) -> Buyer:
    files = {"journal": tmp_path / "payments.jsonl", "receipts": tmp_path / "receipts.jsonl"}
    return Buyer(quick.buyer, quick.chain.url, ledger_seconds=5, **files)


@pytest.fixture
def told(make_buyer: MakeBuyer, tmp_path: Path) -> Any:
    """A buyer for sellers that answer what the test says."""
    return make_buyer(journal=tmp_path / "payments.jsonl")


@pytest.mark.parametrize("path", ["/weather", "/upfront"])
def test_a_stranger_is_paid_once_and_its_answer_is_kept(
    quick: LocalNet, stranger: StrangerSeller, buyer: Buyer, path: str
) -> None:
    """Red before: the 200 was thrown away since it holds no job of ours, and the resend was called refused.

    The body even looks a little like a job: it has an id and a status.
    """
    before = quick.received
    bought = buyer.buy(stranger.url + path, {"city": "Lomé"})
    assert bought.output == {"id": "weather-7", "status": "sunny"}
    assert bought.job is None
    assert bought.verified
    assert quick.received - before == PRICE
    assert (stranger.calls, stranger.seen) == (1, [{"city": "Lomé"}])


def test_the_receipt_is_the_chains_own(quick: LocalNet, stranger: StrangerSeller, buyer: Buyer) -> None:
    bought = buyer.buy(f"{stranger.url}/weather", {})
    assert bought.receipt is not None
    assert bought.receipt.transaction in quick.sent
    assert bought.receipt.ledger is not None
    line = json.loads((buyer._wallet._receipts or Path()).read_text())
    assert (line["paid"]["transaction"], line["verified"]) == (bought.transaction, True)
    assert json.loads(line["answer"]["text"]) == bought.output


def test_bytes_are_delivered_as_they_are(stranger: StrangerSeller, buyer: Buyer) -> None:
    stranger.body = PNG
    assert buyer.buy(f"{stranger.url}/weather").output == PNG


def test_a_handler_that_fails_costs_nothing(quick: LocalNet, stranger: StrangerSeller, buyer: Buyer) -> None:
    before, stranger.status = quick.received, 500
    with pytest.raises(NoAnswer, match="500") as caught:
        buyer.buy(f"{stranger.url}/weather", {}, wait=60)
    assert stranger.calls == 5
    stranger.status = 200
    assert caught.value.payment is not None
    assert buyer.resume(caught.value.payment).verified
    assert quick.received - before == PRICE


def test_a_failure_after_an_upfront_payment_says_that_it_is_paid(
    stranger: StrangerSeller, buyer: Buyer
) -> None:
    stranger.status = 500
    with pytest.raises(AnswerMissing, match="It is paid") as caught:
        buyer.buy(f"{stranger.url}/upfront", {})
    assert caught.value.receipt is not None
    assert caught.value.receipt.ledger is not None
    assert stranger.calls == 1


def test_a_payment_whose_answer_was_lost_is_found_on_the_chain(
    quick: LocalNet, stranger: StrangerSeller, buyer: Buyer
) -> None:
    """The middleware keeps no answers: it refuses the resend, and only the chain knows that it was paid."""
    bought = buyer.buy(f"{stranger.url}/weather", {})
    assert bought.payment is not None
    other = Buyer(quick.buyer, quick.chain.url, ledger_seconds=5)
    with pytest.raises(Paid, match="It is paid") as caught:
        other.resume(bought.payment)
    assert caught.value.receipt is not None
    assert caught.value.receipt.transaction == bought.transaction


# What the middleware does not do by itself


@pytest.mark.parametrize("body", [b"", b"<html>thanks</html>", b"{", b"null", b"[" * 100_000, b"\xff" * 9])
@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_a_success_that_carries_the_settlement_ends_a_purchase_whatever_its_body(
    told: Buyer, seller: Seller, status: int, body: bytes
) -> None:
    """Red before for all of them."""
    seller.paid = [(status, settled(), b"" if status == 204 else body)]
    bought = told.buy(f"{seller.url}/run/x", {})
    assert (bought.reply.status, bought.transaction) == (status, HASH)
    assert len(seller.payments) == 1


@pytest.mark.parametrize(
    "settlement",
    ["%%%", "e30=", "bnVsbA==", "eyJzdWNjZXNzIjogMSwgInRyYW5zYWN0aW9uIjogeyJhIjogWzFdfX0=", "A" * 60_000],
)
def test_a_settlement_that_cannot_be_read_loses_nothing(told: Buyer, seller: Seller, settlement: str) -> None:
    seller.paid = [(200, {"PAYMENT-RESPONSE": settlement}, {"result": 1})]
    assert told.buy(f"{seller.url}/run/x", {}).output == {"result": 1}


def test_an_answer_that_breaks_off_is_asked_for_again_and_then_called_missing(
    told: Buyer, seller: Seller, tmp_path: Path
) -> None:
    """Paid, answer unreadable: the part that came is kept."""
    seller.paid = [(200, {**settled(), "Content-Length": "1000"}, b"the beginning")]
    with pytest.raises(AnswerMissing, match="cannot be read to the end") as caught:
        told.buy(f"{seller.url}/run/x", {})
    assert len(seller.payments) == 3
    assert caught.value.payment is not None
    kept = Journal(tmp_path / "payments.jsonl").find(caught.value.payment.id)
    assert kept is not None
    assert kept.reply is not None
    assert kept.reply.content == b"the beginning"


def test_an_answer_that_breaks_off_once_is_read_the_second_time(told: Buyer, seller: Seller) -> None:
    broken = (200, {**settled(), "Content-Length": "1000"}, b"the beginning")
    seller.paid = [broken, (200, settled(), {"result": 1})]
    assert told.buy(f"{seller.url}/run/x", {}).output == {"result": 1}


@pytest.mark.parametrize("reason", ["settlement_pending", "unexpected_settle_error", "something_new"])
def test_a_refusal_that_proves_nothing_is_not_called_unpaid(told: Buyer, seller: Seller, reason: str) -> None:
    seller.paid = [(402, settled(False, error_reason=reason), {})]
    with pytest.raises(Exception, match="not known") as caught:
        told.buy(f"{seller.url}/run/x", {})
    assert type(caught.value).__name__ == "Undecided"
    assert len(seller.payments) == 1


def test_a_refusal_after_a_lost_answer_is_not_called_unpaid(told: Buyer, seller: Seller) -> None:
    """Red before: "refused", though the first sending may have been charged."""
    refusal = (402, {}, {"error": "invalid_exact_stellar_payload_simulation_failed"})
    seller.paid = [DROP, refusal]
    with pytest.raises(Exception, match="not known"):
        told.buy(f"{seller.url}/run/x", {})
    seller.paid = [problem(503), refusal]
    with pytest.raises(Exception, match="not known"):
        told.buy(f"{seller.url}/run/x", {})


def test_a_contract_wallet_buys_as_well(quick: LocalNet, stranger: StrangerSeller) -> None:
    """Its signer is an address and what its `__check_auth` wants; here the signature of its owner."""
    wallet = StrKey.encode_contract(secrets.token_bytes(32))
    quick.state.fund(wallet, "10", signer=quick.buyer.public_key)
    owner = Signer.of(quick.buyer)
    buyer = Buyer(Signer(wallet, owner.authorize), quick.chain.url, ledger_seconds=5)
    bought = buyer.buy(f"{stranger.url}/weather", {})
    assert bought.verified
    assert bought.receipt is not None
    assert bought.receipt.payer == wallet
