"""A seller withdraws a service while its buyers still ask for what they paid for (issue 10.12, J3).

Red before: every resend got 404, and with it a buyer that had lost an answer lost what it had paid for.
"""

from dataclasses import replace
from typing import Any

import pytest

from provider.payments.headers import PAYMENT_SIGNATURE
from tests.integration.web.conftest import Shop, reopened, sell
from tests.support.payments import payment_header, signed_payment

CASES: list[tuple[str, dict[str, Any]]] = [
    ("POST", {"json": {"word": "5", "times": 2}}),
    ("GET", {"query_string": {"word": "5", "times": "2"}}),
]
WRONG = {"POST": {"json": {"word": "6", "times": 2}}, "GET": {"query_string": {"word": "5", "times": "3"}}}


def send(shop: Shop, method: str, header: str, sent: dict[str, Any], name: str = "echo") -> Any:
    headers = {PAYMENT_SIGNATURE: header, "Prefer": "respond-async"}
    return shop.client.open(f"/run/{name}", method=method, headers=headers, **sent)


@pytest.fixture
def closed(shop: Shop) -> Shop:
    """Give the same shop, that sells `other` alone."""
    return reopened(shop, lambda registry: sell(registry, "other", "on-success"))


@pytest.mark.parametrize(("method", "sent"), CASES, ids=["body", "query"])
def test_a_resend_finds_its_job(shop: Shop, closed: Shop, method: str, sent: dict[str, Any]) -> None:
    """Its output, if it is paid; a query is read by the types that it had."""
    header = shop.pay()
    job = send(shop, method, header, sent).json["id"]
    shop.worker.finish(job)
    again = send(closed, method, header, sent)
    assert (again.status_code, again.json["id"], again.json["output"]) == (200, job, {"said": "hi"})
    assert send(closed, method, header, WRONG[method]).json["code"] == "payment_mismatch"


def test_a_stranger_finds_nothing(shop: Shop, closed: Shop) -> None:
    """The rules of the replay hold as before: another address has no right to it once it may be public."""
    header = shop.pay()
    shop.worker.finish(shop.call(header=header).json["id"])
    closed.client.environ_base["REMOTE_ADDR"] = "203.0.113.9"
    answer = closed.call(header=header)
    assert (answer.status_code, answer.json["code"]) == (409, "payment_mismatch")


def test_a_payment_without_a_claim_is_404(shop: Shop, closed: Shop) -> None:
    """Never 402, also where the payment cannot even be identified; another service's is 409."""
    unknown = shop.pay()
    used = shop.pay()
    assert shop.call(header=used).status_code == 202
    assert send(closed, "POST", unknown, {"json": {"word": "hi"}}).json["code"] == "service_not_found"
    assert send(closed, "POST", used, {"json": {"word": "hi"}}, "gone").json["code"] == "payment_mismatch"
    assert send(closed, "POST", nameless(shop), {"json": {}}).json["code"] == "service_not_found"


def nameless(shop: Shop) -> str:
    """Sign a payment, and cut its envelope."""
    offer = shop.desk.quote(shop.registry.get("echo"))
    payment = signed_payment(offer, shop.buyer, 1_000)
    return payment_header(replace(payment, transaction=payment.transaction[:40]))
