"""How much may be spent, where, and on what."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from provider.client import Limits, Payment
from provider.client.errors import LimitReached
from provider.client.limits import origin_of
from provider.networks import PUBNET, USDC
from provider.payments.models import PaymentRequirements
from tests.unit.client.conftest import PAYMENT, payments

ONE = 10_000_000
DAY = 86_400


def offer(amount: int = ONE, **changes: Any) -> PaymentRequirements:
    known = {"network": PAYMENT.network, "asset": PAYMENT.asset, "pay_to": "G", "max_timeout_seconds": 60}
    return PaymentRequirements(**{**known, "amount": amount, **changes})


@pytest.mark.parametrize(
    ("limits", "counted", "now", "fits"),
    [
        ({"per_day": 2}, payments(1), 1_000, True),
        ({"per_day": "1.9999999"}, payments(1), 1_000, False),
        ({"per_day": 2}, payments(2), 1_000 + DAY - 1, False),
        ({"per_day": 2}, payments(2), 1_000 + DAY + 1, True),
        ({"total": 2}, payments(2), 1_000 + 100 * DAY, False),
        ({"total": Decimal(3), "per_day": 3}, payments(2), 1_000, True),
        ({}, payments(1_000), 1_000, True),
    ],
)
def test_a_budget_is_kept(limits: Any, counted: list[Payment], now: float, fits: bool) -> None:
    if fits:
        Limits(**limits).check_budget(offer(), counted, now)
    else:
        with pytest.raises(LimitReached, match="is spent or reserved"):
            Limits(**limits).check_budget(offer(), counted, now)


def test_each_token_has_a_budget_of_its_own() -> None:
    other = [replace(PAYMENT, network=PUBNET, asset=USDC[PUBNET])]
    Limits(total=1).check_budget(offer(), other, 1_000)


@pytest.mark.parametrize("value", ["much", "NaN", "Infinity", "-1", ""])
def test_a_limit_that_is_no_amount_is_refused_when_it_is_set(value: str) -> None:
    with pytest.raises(ValueError, match="is not an amount"):
        Limits(total=value)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Seller.Example/run/x?y", "https://seller.example"),
        ("https://seller.example:443/", "https://seller.example"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("https://user:secret@seller.example:8443/", "https://seller.example:8443"),
        ("http://[::1]:80/", "http://[::1]"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://seller.example/run/y", True),
        ("https://seller.example:8443/run/y", False),
        ("http://seller.example/run/y", False),
        ("https://seller.example.evil.example/run/y", False),
        ("https://seller.example@evil.example/run/y", False),
    ],
)
def test_only_sellers_on_the_list_are_called(url: str, allowed: bool) -> None:
    limits = Limits(origins=["https://SELLER.example/"])
    if allowed:
        limits.check_origin(url)
    else:
        with pytest.raises(LimitReached):
            limits.check_origin(url)
