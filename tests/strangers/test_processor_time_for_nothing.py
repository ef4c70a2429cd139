"""9.11: what a web process computes for a call that pays nothing is bounded by the length of the call."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from provider.errors import InvalidInput, PaymentRejected
from tests.integration.web.conftest import Shop, facilitator, make_shop, registry, shared_facilitator, shop
from tests.support.jobs import Platform, service

__all__ = ["facilitator", "make_shop", "registry", "shared_facilitator", "shop"]

ROWS = {"type": "object", "properties": {"rows": {"type": "array", "uniqueItems": True}}}
TEXT = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a|a)*$"}}}


def nested(length: int) -> list[Any]:
    """Give items that differ in their last place alone, about 33 bytes each."""
    return [[[[[[["x" * 8, number]]]]], "y" * 4] for number in range(length // 33)]


def test_a_payment_that_does_not_pay_has_no_input_read(platform: Platform) -> None:
    """Red before: the input was parsed and validated for any payment that could be decoded."""
    platform.registry.add(service("strict", input_schema={"type": "object", "required": ["word"]}))
    read: list[dict[str, Any]] = []

    def value() -> dict[str, Any]:
        read.append({})
        return read[-1]

    lane = platform.registry.get("strict")
    with pytest.raises(PaymentRejected):
        platform.desk.call(lane, value, platform.payment("strict", expiration_ledger=1))
    assert read == []
    with pytest.raises(InvalidInput):
        platform.desk.call(lane, value, platform.payment("strict"))
    assert (len(read), platform.facilitator.asked) == (1, [])


@pytest.mark.parametrize(
    ("schema", "make"),
    [
        (ROWS, lambda length: {"rows": nested(length)}),
        (ROWS, lambda length: {"rows": [*nested(length), nested(33)[0]]}),
        (TEXT, lambda length: {"text": "a" * length + "b"}),
        (ROWS, lambda length: {"rows": [{str(n): n} for n in range(length // 12)]}),
    ],
    ids=["unique", "twice", "pattern", "objects"],
)
def test_validation_takes_a_time_that_follows_the_length(
    schema: dict[str, Any], make: Callable[[int], dict[str, Any]]
) -> None:
    """`uniqueItems` over 33 kB once took a minute. By hand: 1 MB takes 0.4 s, 64 KiB 20 ms."""
    strict = service("strict", input_schema=schema)
    for length, most_seconds in ((33_000, 0.25), (300_000, 1.5)):
        value = make(length)
        assert len(json.dumps(value)) > length * 0.8
        began = time.process_time()
        strict.validate_input(value)
        assert time.process_time() - began < most_seconds


def test_the_time_of_both_checks_is_shown(shop: Shop) -> None:
    """Red before: an operator could not see what strangers cost."""

    def counts() -> dict[str, float]:
        text = shop.client.get("/metrics").text
        found = re.findall(r"^provider_(payment|input)_check_seconds_count (\S+)", text, re.M)
        return {name: float(count) for name, count in found}

    before = counts()
    assert shop.call(json={"word": 7}).status_code == 400
    assert shop.call("prepaid", header=shop.pay("echo")).status_code == 402
    after = counts()
    assert {name: after[name] - before[name] for name in before} == {"payment": 2, "input": 1}
