"""Every answer may be read by any page, and every error is a problem (standard H6, H7)."""

from typing import Any

import pytest

from provider.errors import ProviderError
from tests.integration.web.conftest import Shop

EVERYWHERE = [
    ("GET", "/"),
    ("GET", "/services"),
    ("GET", "/healthz"),
    ("GET", "/openapi.json"),
    ("POST", "/run/echo"),
    ("POST", "/run/nothing"),
    ("PUT", "/run/echo"),
    ("GET", "/nowhere"),
    ("GET", "/jobs/none"),
    ("OPTIONS", "/run/echo"),
    ("OPTIONS", "/jobs/none"),
    ("BREW", "/run/echo"),
]


@pytest.mark.parametrize(("method", "path"), EVERYWHERE)
def test_every_answer_may_be_read_by_any_page(shop: Shop, method: str, path: str) -> None:
    """Errors and preflights included; otherwise a browser hides even the 402."""
    headers = shop.client.open(path, method=method, headers={"Origin": "https://page.example"}).headers
    assert headers["Access-Control-Allow-Origin"] == "*"
    exposed = headers["Access-Control-Expose-Headers"]
    assert all(
        name in exposed for name in ("PAYMENT-REQUIRED", "PAYMENT-RESPONSE", "Location", "Retry-After")
    )


def test_a_preflight_allows_what_a_paid_call_needs(shop: Shop) -> None:
    """Without these a browser cannot send its payment."""
    asked = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
    headers = shop.client.options("/run/echo", headers=asked).headers
    allowed = headers["Access-Control-Allow-Headers"]
    assert all(name in allowed for name in ("Content-Type", "Prefer", "PAYMENT-SIGNATURE"))
    assert "POST" in headers["Access-Control-Allow-Methods"]


def test_a_preflight_allows_what_it_is_asked_for(shop: Shop) -> None:
    """H6. Red before: `@x402/fetch` sends the header below with its payment, so no browser could pay."""
    asked = "access-control-expose-headers,authorization,payment-signature,x-more"
    given = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": asked}
    headers = shop.client.options("/run/echo", headers=given).headers
    assert headers["Access-Control-Allow-Headers"] == asked
    assert "Access-Control-Allow-Credentials" not in headers


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("PUT", "/run/echo", 405, "method_not_allowed"),
        ("GET", "/services/nothing", 404, "service_not_found"),
        ("GET", "/jobs/none", 404, "job_not_found"),
    ],
)
def test_every_error_is_a_problem(shop: Shop, method: str, path: str, status: int, code: str) -> None:
    """With a stable code; text is for people."""
    answer = shop.client.open(path, method=method)
    assert answer.content_type == "application/problem+json"
    assert (answer.status_code, answer.json["status"], answer.json["code"]) == (status, status, code)
    assert answer.json["title"]
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_wrong_method_is_told_the_right_ones(shop: Shop) -> None:
    """RFC 9110 wants Allow on 405."""
    assert {"GET", "POST"} <= set(shop.client.put("/run/echo").headers["Allow"].split(", "))


@pytest.mark.parametrize("error", [RuntimeError("secret-detail"), ProviderError("secret-detail")])
def test_what_nobody_foresaw_is_a_500_that_says_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """No stack trace, no text of the error; CORS headers all the same."""

    def break_down(*_: Any) -> None:
        raise error

    monkeypatch.setattr(shop.desk, "admits", break_down)
    answer = shop.client.post("/run/echo")
    assert (answer.status_code, answer.json["code"]) == (500, "internal_error")
    assert "secret-detail" not in answer.text
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_a_path_with_a_slash_too_many_is_not_redirected(shop: Shop) -> None:
    """A redirect would lose the payment of a POST."""
    assert shop.client.post("/run/echo/").status_code == 402
