"""Prices: decimal strings for people, whole atomic units for the chain."""

import re
from decimal import Decimal
from typing import Any

from provider.networks import TOKEN_DECIMALS

_MAX_AMOUNT = 2**63 - 1  # A Stellar asset contract holds balances of classic assets as i64.
_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,11})(\.[0-9]+)?")


def parse_price(price: Any) -> int:
    """Return the price in atomic units.

    Raises ValueError, saying what is wrong with it.
    """
    if not isinstance(price, str) or not _DECIMAL.fullmatch(price):
        raise ValueError(f'must be a decimal string like "0.05", not {price!r:.60}')
    if len(price.partition(".")[2]) > TOKEN_DECIMALS:
        raise ValueError(f"has more than {TOKEN_DECIMALS} decimal places: {price:.60}")
    amount = int(Decimal(price).scaleb(TOKEN_DECIMALS))
    if not 0 < amount <= _MAX_AMOUNT:
        raise ValueError(f"must be more than zero and at most {_MAX_AMOUNT} atomic units: {price}")
    return amount
