"""Bodies are read strictly (standard H9)."""

import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from provider.errors import InvalidBody
from provider.services import ChargePolicy, Service
from provider.web.http.body import parse_body, read_input

WORDS = Service(
    name="words",
    description="Say a word.",
    price="1",
    charge=ChargePolicy.UPFRONT,
    input_schema={
        "type": "object",
        "properties": {"word": {"type": "string"}, "count": {"type": "integer"}},
    },
    output_schema={},
)


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
        (b'{"a":tru}', "no JSON from line 1, column 6"),
        (b'{"a":' + b"[" * 64 + b"]" * 64 + b"}", "deeper than 64"),
        (b"[" * 500_000, "deeper than 64"),
        (b'{"a":' + b"9" * 5000 + b"}", "digits"),
    ],
)
def test_a_body_that_two_readers_could_read_differently_is_refused(body: bytes, said: str) -> None:
    """Each refusal says what is wrong."""
    with pytest.raises(InvalidBody, match=said):
        parse_body(body)


def test_a_byte_order_mark_is_read_over() -> None:
    """Red before: libraries of Windows write one, and were refused with a text of Python's."""
    assert parse_body(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


def test_a_body_of_the_greatest_depth_is_read() -> None:
    """64 levels count the outer object."""
    assert parse_body(b'{"a":' + b"[" * 63 + b"]" * 63 + b"}")


def query(text: str) -> Request:
    return Request(EnvironBuilder(query_string=text).get_environ())


def test_a_query_that_is_not_utf_8_is_refused() -> None:
    """Red before: it was read as other text, bought and paid for."""
    with pytest.raises(InvalidBody, match="UTF-8"):
        read_input(query("word=%ff"), WORDS)
    assert read_input(query("word=%C3%BC"), WORDS) == {"word": "ü"}


def test_a_whole_number_may_have_a_fraction_of_zero() -> None:
    """As JSON Schema counts: 300.0 is an integer. Red before in queries."""
    assert read_input(query("count=300.0"), WORDS) == {"count": 300}
    assert read_input(query("count=300.5"), WORDS) == {"count": "300.5"}
