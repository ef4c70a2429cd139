"""What is kept of a facilitator's answer beside its body (issue 10.11)."""

import pytest

from provider.payments.transport import answer_of


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        ("0", 0),
        ("86400", 3600),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("", None),
        (None, None),
    ],
)
def test_what_it_asks_to_wait(value: str | None, seconds: int | None) -> None:
    """Red before: buyers read 5 s whatever it said."""
    headers = {} if value is None else {"Retry-After": value}
    assert answer_of(429, b"{}", headers).retry_after_seconds == seconds


def test_a_redirect_is_named_as_one() -> None:
    """Red before: an operator read "answer_unreadable"."""
    assert answer_of(302, b"", {"Location": "https://elsewhere.example"}).redirect
    assert answer_of(200, b"{}", {"Location": "https://elsewhere.example"}).redirect is None
