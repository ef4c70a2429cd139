"""What a seller answers is read without a fault, whatever it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider.client.exchange import HttpReply
from provider.client.reading import (
    ServiceAddress,
    job_of,
    output_of,
    problem_text,
    refusal_reason,
    retry_after,
    settlement_of,
)

JOB = {
    "id": "qr-code.0123",
    "service": "qr-code",
    "charge": "upfront",
    "status": "running",
    "createdAt": "2026-01-31T12:00:00.000Z",
}
URL = "https://seller.example/shop/run/qr-code?text=hi"
NAMES = ("payment-response", "payment-required", "retry-after", "content-type", "location")


def reply(body: Any = None, status: int = 200, **headers: str) -> HttpReply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpReply(status, {name.replace("_", "-"): value for name, value in headers.items()}, raw)


def test_a_job_of_ours_is_known_and_found() -> None:
    address = ServiceAddress.of(URL)
    assert address == ServiceAddress("qr-code", "https://seller.example/shop")
    assert job_of(reply(JOB, 202), address) == JOB
    assert address.job_url("qr-code.0123") == "https://seller.example/shop/jobs/qr-code.0123"


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "weather.1"},
        {"id": "qr-code.1/../../x"},
        {"id": 7},
        {"service": "weather"},
        {"charge": "never"},
        {"status": "sunny"},
        {"createdAt": None},
    ],
)
def test_what_looks_a_little_like_a_job_is_none(changes: dict[str, Any]) -> None:
    assert job_of(reply({**JOB, **changes}), ServiceAddress.of(URL)) is None


@pytest.mark.parametrize(
    "url", ["https://a.example/weather", "https://a.example/run/", "https://a.example/run/a/b"]
)
def test_a_call_that_is_no_service_of_ours_brings_no_job(url: str) -> None:
    assert job_of(reply(JOB), ServiceAddress.of(url)) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Wed, 31 Dec 1969 23:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("1.5", None),
        ("²", None),
        ("9" * 5000, 999_999_999.0),
        ("Thu, 01 Jan 99999 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert retry_after(reply(retry_after=text), now=10) == seconds


@pytest.mark.parametrize(
    ("kind", "raw", "output"),
    [
        ("application/json", b'{"a": 1}', {"a": 1}),
        ("application/problem+json; charset=utf-8", b"null", None),
        ("application/json", b"{", "{"),
        ("text/html", "naïf".encode(), "naïf"),
        ("image/png", b"\x89\xff", b"\x89\xff"),
        ("", b"x", b"x"),
    ],
)
def test_an_output_is_what_its_media_type_says(kind: str, raw: bytes, output: Any) -> None:
    assert output_of(reply(raw, content_type=kind)) == output


@given(
    status=st.integers(200, 599),
    headers=st.dictionaries(st.sampled_from(NAMES), st.text(max_size=60)),
    content=st.one_of(
        st.binary(max_size=80),
        st.recursive(st.none() | st.text(), st.lists).map(
            lambda value: json.dumps({"detail": value, "fields": value, "id": value}).encode()
        ),
    ),
)
def test_nothing_that_is_read_raises(status: int, headers: dict[str, str], content: bytes) -> None:
    """By then money may have been spent."""
    found = HttpReply(status, headers, content)
    for read in (settlement_of, output_of, refusal_reason, problem_text):
        read(found)
    retry_after(found, 0.0)
    job_of(found, ServiceAddress.of(URL))


def test_a_sellers_text_commands_no_terminal() -> None:
    found = problem_text(reply({"detail": "\x1b[2J\x07fine\r\n" + "x" * 1000}, 400))
    assert found.startswith("400: ?[2J?fine??xxx")
    assert len(found) < 520
