"""Bodies are read strictly (standard H9)."""

import pytest

from provider.errors import InvalidBody
from provider.web.http.body import parse_body


def test_no_body_is_an_empty_object() -> None:
    """Whether something is missing is for the schema to say."""
    assert parse_body(b" \n") == {}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"a":1,"a":2}', "same key twice"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "Infinity"),
        (b'{"a":1e999}', "too large"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"{", "JSON object"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "JSON object"),
        (b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", "deeper than 64"),
        (b"[" * 500_000, "deeper than 64"),
        (b'{"a":' + b"9" * 5000 + b"}", "digits"),
    ],
)
def test_a_body_that_two_readers_could_read_differently_is_refused(body: bytes, said: str) -> None:
    """Each refusal says what is wrong."""
    with pytest.raises(InvalidBody, match=said):
        parse_body(body)


def test_a_body_of_the_greatest_depth_is_read() -> None:
    """64 levels count the outer object."""
    assert parse_body(b'{"a":' + b"[" * 63 + b"]" * 63 + b"}")
