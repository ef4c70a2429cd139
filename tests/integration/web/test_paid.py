"""What a call answers that brings a payment (standard H2, H4, H9, J3)."""

import base64
from collections.abc import Callable

import pytest

from provider.jobs.store import keys
from tests.integration.web.conftest import Shop
from tests.integration.web.test_unpaid import decoded
from tests.support.redis_server import RedisServer


def test_a_paid_call_becomes_a_job(shop: Shop) -> None:
    """202 names the job and when to look again."""
    answer = shop.call()
    assert answer.status_code == 202
    assert answer.json["status"] == "queued"
    assert answer.headers["Location"] == f"https://shop.example/jobs/{answer.json['id']}"
    assert int(answer.headers["Retry-After"]) >= 1
    assert shop.wake_ups.handled == [answer.json["id"]]


def test_an_upfront_call_is_settled_first(shop: Shop) -> None:
    """Its payment is asked for before it gets a place."""
    answer = shop.call("prepaid")
    assert answer.json["status"] == "pending"
    assert (shop.wake_ups.settled, shop.wake_ups.handled) == ([answer.json["id"]], [])


@pytest.mark.parametrize(
    "header", ["", "!", "e30=", "W10=", "x" * 20_000, base64.b64encode(b"{").decode()], ids=len
)
def test_a_broken_header_is_400_and_reaches_nobody(shop: Shop, header: str) -> None:
    """It fails before the body is read or the facilitator asked."""
    answer = shop.client.post("/run/echo", headers={"PAYMENT-SIGNATURE": header}, data=b"{")
    assert (answer.status_code, answer.json["code"]) == (400, "invalid_payment_header")
    assert shop.facilitator.asked == []


def test_a_url_safe_unpadded_header_is_read(shop: Shop) -> None:
    """Both alphabets are in use."""
    header = shop.pay().replace("+", "-").replace("/", "_").rstrip("=")
    assert shop.call(header=header).status_code == 202


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_body"),
        (b'{"word":1}', 400, "invalid_input"),
        (b"x" * 1_100_000, 413, "body_too_large"),
    ],
    ids=["broken", "wrong", "huge"],
)
def test_a_bad_input_costs_nothing(shop: Shop, body: bytes, status: int, code: str) -> None:
    """The same payment pays for the repaired call."""
    header = shop.pay()
    answer = shop.call(header=header, data=body)
    assert (answer.status_code, answer.json["code"]) == (status, code)
    assert shop.facilitator.asked == []
    assert shop.call(header=header).status_code == 202


def test_a_wrong_input_is_told_field_by_field(shop: Shop) -> None:
    """Each field is named by its JSON pointer."""
    answer = shop.call(json={"times": "many"})
    assert {problem["field"] for problem in answer.json["fields"]} == {"/word", "/times"}


def test_the_same_call_again_gives_the_same_job(shop: Shop) -> None:
    """That is how a lost answer is recovered."""
    header = shop.pay()
    first, second = shop.call(header=header), shop.call(header=header)
    assert first.json["id"] == second.json["id"]
    assert shop.facilitator.calls("/verify") == 1


def test_a_call_whose_record_was_never_written_is_healed_by_its_resend(shop: Shop) -> None:
    """A crash came between claim key and record (J7): the resend becomes the same job, input and all."""
    header = shop.pay()
    job_id = shop.call(header=header).json["id"]
    shop.store.client.delete(keys.job(job_id))
    assert shop.call(header=header).json["id"] == job_id
    assert shop.store.get(job_id).input == '{"word":"hi"}'


def test_the_same_payment_for_another_input_is_409(shop: Shop) -> None:
    """One claim, one call."""
    header = shop.pay()
    shop.call(header=header)
    answer = shop.call(header=header, json={"word": "other"})
    assert (answer.status_code, answer.json["code"]) == (409, "payment_mismatch")


def test_a_broken_body_says_nothing_about_the_job_of_its_payment(shop: Shop) -> None:
    """It is the input of no call: 400, and the repaired call still finds its job."""
    header = shop.pay()
    job_id = shop.call(header=header).json["id"]
    answer = shop.call(header=header, data=b"{")
    assert (answer.status_code, job_id in answer.text) == (400, False)
    assert shop.call(header=header).json["id"] == job_id


def test_a_payment_for_another_price_is_402_with_the_reason(shop: Shop) -> None:
    """The challenge comes again, so that the buyer sees both."""
    answer = shop.call("prepaid", header=shop.pay("echo"))
    assert answer.status_code == 402
    assert decoded(answer.headers["PAYMENT-REQUIRED"]) == answer.json
    assert answer.json["error"] != shop.client.post("/run/prepaid").json["error"]


def test_a_payment_the_facilitator_refuses_is_402_with_its_reason(shop: Shop) -> None:
    """And its place is free again."""
    shop.facilitator.refuse("insufficient_funds")
    assert shop.call("narrow").json["error"] == "insufficient_funds"
    assert shop.client.post("/run/narrow").status_code == 402


def test_a_silent_facilitator_is_503_and_the_same_payment_counts_later(shop: Shop) -> None:
    """Nothing was decided about the payment (H4)."""
    header = shop.pay()
    shop.facilitator.verify = lambda _: (500, b"<html>")
    answer = shop.call(header=header)
    assert (answer.status_code, answer.json["code"]) == (503, "facilitator_unreachable")
    assert "Retry-After" in answer.headers
    shop.facilitator.verify = lambda _: (200, {"isValid": True})
    assert shop.call(header=header).status_code == 202


def test_a_paid_call_for_a_full_lane_is_503(shop: Shop) -> None:
    """The facilitator is not asked for what cannot be queued."""
    shop.call("narrow")
    answer = shop.call("narrow", header=shop.pay("narrow"))
    assert (answer.status_code, answer.json["code"]) == (503, "lane_full")
    assert shop.facilitator.calls("/verify") == 1


def test_without_redis_a_paid_call_is_503_never_402(
    make_shop: Callable[..., Shop], own_redis: RedisServer
) -> None:
    """Reference clients sign a fresh payment for every 402 they see (H4)."""
    shop = make_shop(own_redis.url)
    header = shop.pay()
    own_redis.kill()
    answer = shop.call(header=header)
    assert (answer.status_code, answer.json["code"]) == (503, "store_unavailable")
    assert "Retry-After" in answer.headers


def test_a_paid_get_reads_its_query_by_the_schema(shop: Shop) -> None:
    """Numbers become numbers; the same input by POST is the same call."""
    headers = {"PAYMENT-SIGNATURE": shop.pay(), "Prefer": "respond-async"}
    got = shop.client.get("/run/echo?word=hi&times=3", headers=headers)
    posted = shop.client.post("/run/echo", json={"word": "hi", "times": 3}, headers=headers)
    assert got.status_code == 202
    assert got.json["id"] == posted.json["id"]


def test_a_get_whose_query_does_not_fit_is_400(shop: Shop) -> None:
    """What is no number stays text, and the schema names it."""
    answer = shop.client.get("/run/echo?word=hi&times=x", headers={"PAYMENT-SIGNATURE": shop.pay()})
    assert (answer.status_code, answer.json["fields"][0]["field"]) == (400, "/times")
