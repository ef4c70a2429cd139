"""Small ways to be led elsewhere, or charged for nothing (issue 9.16)."""

import pytest

from provider.payments.headers import PAYMENT_REQUIRED, PAYMENT_SIGNATURE
from tests.integration.web.conftest import Shop


@pytest.mark.parametrize("path", ["/run//echo", "/jobs//x/events", "/services//echo"])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_no_path_is_redirected(shop: Shop, method: str, path: str) -> None:
    """Red before: 308 to an address built from the caller's Host, which a cache may keep for others."""
    answer = shop.client.open(f"https://evil.example{path}", method=method)
    assert (answer.status_code, answer.headers.get("Location")) == (404, None)
    assert "evil.example" not in answer.text + str(answer.headers)


def test_head_with_a_payment_buys_nothing(shop: Shop) -> None:
    """Red before: 202 and a job, whose output the caller of HEAD never sees. The payment stays good."""
    headers = {PAYMENT_SIGNATURE: shop.pay(), "Prefer": "respond-async"}
    answer = shop.client.head("/run/echo?word=hi", headers=headers)
    assert (answer.status_code, answer.data) == (402, b"")
    assert PAYMENT_REQUIRED in answer.headers
    assert (shop.wake_ups.handled, shop.facilitator.asked) == ([], [])
    assert shop.client.get("/run/echo?word=hi", headers=headers).status_code == 202
