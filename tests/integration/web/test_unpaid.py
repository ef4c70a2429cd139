"""What a call answers that brings no payment (standard H1)."""

import base64
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.web.conftest import PAY_TO, Shop
from tests.support.redis_server import RedisServer


def decoded(header: str) -> Any:
    return json.loads(base64.b64decode(header))


@pytest.mark.parametrize("body", [b"", b"{", b'{"word":"hi"}', b"\xff\xfe", b"x" * 3_000_000], ids=len)
def test_an_unpaid_call_is_asked_for_payment_whatever_its_body(shop: Shop, body: bytes) -> None:
    """Indexers probe with empty bodies, so the challenge comes before validation."""
    answer = shop.client.post("/run/echo", data=body)
    assert answer.status_code == 402
    assert decoded(answer.headers["PAYMENT-REQUIRED"]) == answer.json


def test_the_challenge_says_all_that_is_needed_to_pay(shop: Shop) -> None:
    """x402 v2, scheme exact on Stellar."""
    challenge = shop.client.post("/run/echo").json
    assert challenge["x402Version"] == 2
    assert challenge["resource"]["url"] == "https://shop.example/run/echo"
    offer = challenge["accepts"][0]
    assert (offer["scheme"], offer["amount"], offer["payTo"]) == ("exact", "500000", PAY_TO)
    assert offer["extra"] == {"areFeesSponsored": True}
    assert {"bazaar", "payment-identifier"} <= challenge["extensions"].keys()


def test_an_upfront_service_says_so(shop: Shop) -> None:
    """Buyers must know that they pay before the work."""
    offer = shop.client.post("/run/prepaid").json["accepts"][0]
    assert offer["extra"]["paymentFlow"] == "upfront"


def test_a_challenge_is_never_cached(shop: Shop) -> None:
    """A cached one would outlive its price."""
    assert shop.client.post("/run/echo").headers["Cache-Control"] == "no-store"


def test_head_answers_as_get_does(shop: Shop) -> None:
    """Without a body, with all headers."""
    head, get = shop.client.head("/run/echo"), shop.client.get("/run/echo")
    assert (head.status_code, head.data) == (402, b"")
    assert head.headers["PAYMENT-REQUIRED"] == get.headers["PAYMENT-REQUIRED"]


def test_options_is_never_402(shop: Shop) -> None:
    """A browser asks before it may send anything."""
    assert shop.client.options("/run/echo").status_code == 200


def test_get_and_post_describe_themselves(shop: Shop) -> None:
    """An indexer catalogues the method it probed with."""
    for method in ("GET", "POST"):
        challenge = shop.client.open("/run/echo", method=method).json
        assert challenge["extensions"]["bazaar"]["info"]["input"]["method"] == method


def test_a_full_lane_asks_nobody_to_pay(shop: Shop) -> None:
    """Nobody should sign for a place that does not exist."""
    assert shop.call("narrow").status_code == 202
    answer = shop.client.post("/run/narrow")
    assert (answer.status_code, answer.json["code"]) == (503, "lane_full")
    assert int(answer.headers["Retry-After"]) >= 1
    assert "PAYMENT-REQUIRED" not in answer.headers


def test_an_unknown_service_is_not_for_sale(shop: Shop) -> None:
    """A price would be a lie."""
    answer = shop.client.post("/run/nothing")
    assert (answer.status_code, answer.json["code"]) == (404, "service_not_found")


def test_without_redis_nobody_is_asked_to_pay(make_shop: Callable[..., Shop], own_redis: RedisServer) -> None:
    """A payment that cannot be recorded should not be signed (C5)."""
    shop = make_shop(own_redis.url)
    own_redis.kill()
    began = time.monotonic()
    answer = shop.client.post("/run/echo")
    assert (answer.status_code, answer.json["code"]) == (503, "store_unavailable")
    assert time.monotonic() - began < 2
