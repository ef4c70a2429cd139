from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider.services.price import parse_price


@pytest.mark.parametrize(
    ("price", "amount"),
    [("0.05", 500_000), ("1", 10_000_000), ("0.0000001", 1), ("922337203685.4775807", 2**63 - 1)],
)
def test_a_price_is_counted_in_atomic_units(price: str, amount: int) -> None:
    assert parse_price(price) == amount


@given(st.integers(min_value=1, max_value=2**63 - 1))
def test_every_amount_survives_the_way_through_a_decimal_string(amount: int) -> None:
    assert parse_price(f"{Decimal(amount).scaleb(-7):f}") == amount


@pytest.mark.parametrize("price", ["0", "0.0", "0.0000000", "922337203685.4775808", "999999999999"])
def test_a_price_of_nothing_or_of_more_than_a_balance_is_refused(price: str) -> None:
    with pytest.raises(ValueError, match="more than zero"):
        parse_price(price)


@pytest.mark.parametrize("price", ["0.00000001", "0.10000000", "1.00000000000000000"])
def test_more_decimal_places_than_the_token_has_are_refused_not_rounded(price: str) -> None:
    with pytest.raises(ValueError, match="more than 7 decimal places"):
        parse_price(price)


@pytest.mark.parametrize(
    "price",
    [
        "",
        "-1",
        "+1",
        "NaN",
        "Infinity",
        "1e3",
        "1E-7",
        ".5",
        "5.",
        "01",
        " 1",
        "1\n",
        "1_0",
        "0,05",
        "٣",
        "1/2",
    ],
)
def test_a_price_in_any_other_spelling_is_refused(price: str) -> None:
    with pytest.raises(ValueError, match="decimal string"):
        parse_price(price)


@pytest.mark.parametrize("price", [0.05, 1, None, Decimal("0.05"), b"1", ["1"]])
def test_a_price_that_is_no_text_is_refused(price: object) -> None:
    with pytest.raises(ValueError, match="decimal string"):
        parse_price(price)
