"""A payment that was never signed."""

from dataclasses import replace
from typing import Any

import pytest

from provider.client.payment import Payment
from provider.networks import TESTNET, USDC

PAYMENT = Payment(
    id="pay_0",
    signed_at=1_000.0,
    method="POST",
    url="https://seller.example/run/x",
    input={"word": "é"},
    header="e30=",
    network=TESTNET,
    asset=USDC[TESTNET],
    amount=10_000_000,
    pay_to="G1",
    payer="G2",
    nonce=-(2**63),
    expiration_ledger=20,
    signed_ledger=8,
    service="x",
    public_url="https://seller.example",
)


@pytest.fixture
def payment() -> Payment:
    return PAYMENT


def payments(count: int, **changes: Any) -> list[Payment]:
    return [replace(PAYMENT, id=f"pay_{n}", **changes) for n in range(count)]
