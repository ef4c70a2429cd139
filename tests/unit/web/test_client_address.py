"""Which address is a client's own (J3): a proxy's is the same for all, and any client can send a header."""

import pytest
from flask import Flask, request

from provider.web.http.client_address import client_address

PROXY, CLIENT, LIAR = "10.0.0.1", "198.51.100.7", "203.0.113.9"
PUBLIC, OTHER = "8.8.8.8", "2a00:1450:4001:81b::200e"


@pytest.mark.parametrize(
    ("how", "connection", "forwarded", "expected"),
    [
        ("public", PUBLIC, None, PUBLIC),
        ("public", f"::ffff:{PUBLIC}", None, PUBLIC),
        ("public", OTHER, None, "2a00:1450:4001:81b::/64"),
        ("public", "127.0.0.1", None, ""),
        ("public", PROXY, CLIENT, ""),
        ("public", PUBLIC, LIAR, PUBLIC),
        ("connection", "127.0.0.1", LIAR, "127.0.0.1"),
        ("connection", "", None, ""),
        ("forwarded", PROXY, CLIENT, CLIENT),
        ("forwarded", PROXY, f"{LIAR}, {CLIENT}", CLIENT),
        ("forwarded:2", PROXY, f"{LIAR}, {CLIENT}, {PROXY}", CLIENT),
        ("forwarded:2", PROXY, CLIENT, ""),
        ("forwarded", PROXY, None, ""),
        ("forwarded", PROXY, "unknown", ""),
    ],
)
def test_the_address_of_a_client(how: str, connection: str, forwarded: str | None, expected: str) -> None:
    """Empty where it is unknown: then no address gives a right."""
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    with Flask("shop").test_request_context(headers=headers, environ_base={"REMOTE_ADDR": connection}):
        assert client_address(request, how) == expected
