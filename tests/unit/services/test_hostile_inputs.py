"""Validation takes a time that follows the size of the input, whatever the input is made of."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider.services import Service
from provider.services.schema import CompiledSchema, schema_problems
from provider.services.validation import SMALL

Declare = Callable[..., Service]

MANY = 200_000
TWICE = "must not have an item twice"
STRINGS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (STRINGS, [1] * MANY, ("/rows/0", "must be of type string")),
        (STRINGS, ["x"] * MANY + [1], (f"/rows/{MANY}", "must be of type string")),
        (
            {"items": {"anyOf": [{"type": "string"}, {"required": ["a"], "type": "object"}]}},
            [1] * MANY,
            ("/rows/0", "fits none of the alternatives"),
        ),
        (
            {"anyOf": [STRINGS, {"type": "object"}]},
            [1] * MANY,
            ("/rows", "does not fit the schema, and is too large to say why"),
        ),
        ({"uniqueItems": True}, [{"n": n} for n in [*range(20_000), 0]], ("/rows", TWICE)),
        (
            {"additionalProperties": {"prefixItems": [{"type": "null"}]}},
            {str(n): [n] for n in range(MANY)},
            ("/rows/0/0", "must be of type null"),
        ),
        (
            {"additionalProperties": False, "properties": {"0": {}}},
            dict.fromkeys(map(str, range(MANY)), 0),
            ("/rows", "has unknown properties: 1, 2, 3, 4, 5, …"),
        ),
        ({"required": ["a"]}, {"b": "x" * MANY}, ("/rows/a", "is required")),
        ({"pattern": "^(a+)+$"}, "a" * MANY + "b", ("/rows", 'must match the pattern "^(a+)+$"')),
    ],
)
def test_a_hopeless_input_is_refused_in_time_that_follows_its_size(
    declare: Declare, schema: Any, value: Any, expected: tuple[str, str]
) -> None:
    """Was red: comparing 20 000 items took minutes, a pattern for ever, listing all errors 14 s."""
    service = declare(input_schema={"type": "object", "properties": {"rows": schema}})
    began = time.process_time()
    problems = service.validate_input({"rows": value})
    assert time.process_time() - began < 5
    assert (problems[0].field, problems[0].message) == expected
    assert len(problems) <= 20


def test_a_large_input_that_fits_has_no_problems(declare: Declare) -> None:
    service = declare(input_schema={"type": "object", "properties": {"rows": STRINGS}, "required": ["rows"]})
    assert service.validate_input({"rows": ["x"] * MANY}) == []


@given(st.lists(st.recursive(st.integers() | st.text(), st.lists, max_leaves=8), max_size=12))
def test_a_large_value_is_judged_as_a_small_one(rows: list[Any]) -> None:
    """With much around it, a value that does not fit has a problem, and one that fits has none."""
    schema = CompiledSchema(
        {
            "properties": {
                "rows": {
                    "items": {"type": ["string", "array"], "maxLength": 3, "items": {"type": "integer"}},
                    "uniqueItems": True,
                    "maxItems": 8,
                    "not": {"minItems": 6},
                }
            }
        }
    )
    small, large = schema.problems({"rows": rows}), schema.problems({"rows": rows, "pad": "x" * SMALL})
    assert (small == []) is (large == [])


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!a)b", r"(a)\1", "a{1000}{1000}"])
def test_a_pattern_that_takes_more_than_linear_time_is_refused(pattern: str) -> None:
    """Was red: look-around and back-references were taken, and a hostile text keeps such an engine busy."""
    schema = {"properties": {"a": {"pattern": pattern}}, "patternProperties": {pattern: {}}}
    told = schema_problems(schema)
    assert [line.split(": ")[0] for line in told] == ["at /properties/a/pattern", "at /patternProperties"]
    assert all("must be a regular expression that is matched in linear time" in line for line in told)
