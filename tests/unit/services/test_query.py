from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider import strict_json
from provider.services import Service
from provider.services.query import coerce, coerce_again
from provider.services.schema import CompiledSchema

Taking = Callable[..., Service]

INTEGER = {"type": "integer"}
NULLABLE = {"type": ["integer", "null"]}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (INTEGER, "42", 42),
        (INTEGER, "-7", -7),
        (INTEGER, "1.5", "1.5"),
        (INTEGER, "0x10", "0x10"),
        (INTEGER, "٣", "٣"),
        (INTEGER, "9" * 5000, "9" * 5000),
        ({"type": "number"}, "1.5e3", 1500.0),
        ({"type": "number"}, "42", 42),
        ({"type": "number"}, "nan", "nan"),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "1", "1"),
        ({"type": "string"}, "42", "42"),
        ({"type": "string"}, "null", "null"),
        (NULLABLE, "null", None),
        (NULLABLE, "", None),
        ({"type": ["string", "null"]}, "", ""),
        ({"type": "array", "items": INTEGER}, "1", [1]),
        ({"type": ["array", "string"]}, "1", "1"),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "3", 3),
        ({"enum": [1, 2, None]}, "2", 2),
        ({"const": True}, "true", True),
        ({"$ref": "#/$defs/count"}, "5", 5),
        ({"allOf": [{"$ref": "#/$defs/count"}]}, "5", 5),
        ({"$ref": "#/$defs/loop"}, "5", "5"),
        (True, "5", "5"),
    ],
)
def test_text_becomes_what_the_schema_declares(taking: Taking, schema: Any, text: str, value: Any) -> None:
    definitions = {"count": INTEGER, "loop": {"anyOf": [{"$ref": "#/$defs/loop"}]}}
    coerced = taking({"x": schema}, **{"$defs": definitions}).coerce_query([("x", text)])
    assert coerced == {"x": value}
    assert type(coerced["x"]) is type(value)
    again = coerce_again([("x", text)], strict_json.parse_object(strict_json.dumps(coerced).encode()))
    assert strict_json.dumps(again) == strict_json.dumps(coerced)


def test_repeated_keys_make_an_array_in_their_order(taking: Taking) -> None:
    service = taking({"x": {"type": "array", "items": INTEGER}})
    assert service.coerce_query([("x", "2"), ("y", "a"), ("x", "1")]) == {"x": [2, 1], "y": "a"}


def test_a_key_repeated_by_mistake_is_left_for_validation_to_refuse(taking: Taking) -> None:
    service = taking({"x": INTEGER})
    coerced = service.coerce_query([("x", "1"), ("x", "2")])
    assert [problem.field for problem in service.validate_input(coerced)] == ["/x"]


def test_an_unknown_key_stays_text(taking: Taking) -> None:
    assert taking({}).coerce_query([("other", "1")]) == {"other": "1"}


def test_properties_behind_a_reference_are_found(taking: Taking) -> None:
    base = {"properties": {"x": INTEGER}}
    assert taking({}, **{"$defs": {"base": base}, "$ref": "#/$defs/base"}).coerce_query([("x", "1")]) == {
        "x": 1
    }


def test_a_number_beyond_floats_is_refused_by_validation(taking: Taking) -> None:
    service = taking({"x": {"type": "number"}})
    assert service.validate_input(service.coerce_query([("x", "1e999")]))


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.text())))
def test_no_query_makes_coercion_crash(pairs: list[tuple[str, str]]) -> None:
    types = {"a": INTEGER, "b": {"type": "number"}, "c": {"type": "array", "items": NULLABLE}, "d": NULLABLE}
    coerced = coerce(pairs, CompiledSchema({"properties": types}))
    assert coerced.keys() == {name for name, _ in pairs}
