import socket
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provider.services import FieldProblem, Service
from provider.services.schema import CompiledSchema, schema_problems

Declare = Callable[..., Service]

INPUT = {
    "type": "object",
    "properties": {
        "number": {"type": "integer", "minimum": 1},
        "day": {"type": "string", "format": "date"},
        "rows": {"type": "array", "items": {"type": "object", "required": ["a/b"]}, "maxItems": 2},
        "either": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}]},
    },
    "required": ["number"],
    "additionalProperties": False,
}


@pytest.fixture
def problems(declare: Declare) -> Callable[[Any], list[tuple[str, str]]]:
    service = declare(input_schema=INPUT)
    return lambda value: [(problem.field, problem.message) for problem in service.validate_input(value)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"number": 1}, []),
        ({}, [("/number", "is required")]),
        ([], [("", "must be of type object")]),
        ({"number": True}, [("/number", "must be of type integer")]),
        ({"number": 0}, [("/number", "must be at least 1")]),
        ({"number": 1, "day": "2026-13-01"}, [("/day", 'must have the format "date"')]),
        ({"number": 1, "rows": [{"a/b": 1}, {}]}, [("/rows/1/a~1b", "is required")]),
        ({"number": 1, "rows": [{"a/b": 1}] * 3}, [("/rows", "must have at most 2 items")]),
        ({"number": 1, "extra": 1}, [("", "has unknown properties: extra")]),
        ({"number": 1, "either": "long"}, [("/either", "must have at most 3 characters")]),
    ],
)
def test_each_problem_names_the_field(problems: Any, value: Any, expected: list[tuple[str, str]]) -> None:
    assert problems(value) == expected


def test_several_problems_are_told_at_once(problems: Any) -> None:
    fields = [field for field, _ in problems({"day": "x", "rows": 1})]
    assert sorted(fields) == ["/day", "/number", "/rows"]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_know_are_refused_in_any_place(declare: Declare, number: float) -> None:
    expected = [FieldProblem("/deep/0", "must be a finite number")]
    assert declare().validate_input({"deep": [number]}) == expected


NOT_JSON = [{1}, b"x", datetime(2026, 1, 1), (1,), {1: 2}, "\ud800", {"\udfff": 1}, 10**5000]


@pytest.mark.parametrize("value", NOT_JSON, ids=range(len(NOT_JSON)))
def test_an_output_that_cannot_be_sent_as_json_is_invalid(declare: Declare, value: Any) -> None:
    assert declare(output_schema={}).validate_output({"key": value})


def test_an_output_that_contains_itself_is_invalid_and_does_not_hang(declare: Declare) -> None:
    loop: list[Any] = []
    loop.extend([loop, loop])
    assert "nested deeper" in declare(output_schema={}).validate_output(loop)[0].message


@pytest.mark.parametrize(("depth", "valid"), [(64, True), (65, False), (100_000, False)])
def test_nesting_has_a_limit(declare: Declare, depth: int, valid: bool) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    assert (declare(output_schema={}).validate_output(value) == []) is valid


def test_messages_do_not_echo_a_large_input(problems: Any) -> None:
    huge = "x" * 500_000
    told = problems({"number": huge, huge: huge, "either": huge, "rows": [{huge: [huge]}]})
    assert told
    assert all(len(field) + len(message) < 500 for field, message in told)


def test_only_the_first_problems_of_a_hopeless_input_are_told(problems: Any) -> None:
    assert len(problems({"number": 1, "rows": [1] * 10_000})) <= 20


@pytest.mark.parametrize(("step", "fits"), [(0.01, True), (4, True), (3, False)])
def test_a_number_too_large_for_a_float_is_checked_exactly(declare: Declare, step: float, fits: bool) -> None:
    assert (declare(output_schema={"multipleOf": step}).validate_output(10**400) == []) is fits


def test_alternatives_that_all_fit_badly_are_a_problem_of_the_field(problems: Any) -> None:
    assert problems({"number": 1, "either": None}) == [("/either", "fits none of the alternatives")]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(deadline=None)
@given(json_values)
def test_no_value_makes_validation_crash(value: Any) -> None:
    for problem in CompiledSchema(INPUT).problems(value):
        problem.message.encode()


@pytest.mark.parametrize(
    "schema",
    [
        True,
        None,
        [],
        {"type": "text"},
        {"type": "object", "properties": []},
        {"pattern": "("},
        {"minimum": float("nan")},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"properties": {"a": {"$ref": "https://example.com/schema"}}},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
    ],
)
def test_a_bad_schema_is_a_problem(schema: Any) -> None:
    assert schema_problems(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"const": {"$ref": "https://example.com/not-a-reference"}},
        {"properties": {"$ref": {"type": "string"}}},
        {"$defs": {"a": {"type": "string"}}, "items": {"$ref": "#/$defs/a"}},
        {"$id": "https://example.com/s", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}},
        {
            "$defs": {"a": {"$id": "https://example.com/a", "type": "null"}},
            "items": {"$ref": "https://example.com/a"},
        },
        {"properties": {"child": {"$ref": "#"}}},
    ],
)
def test_references_within_the_schema_are_followed(schema: dict[str, Any]) -> None:
    assert schema_problems(schema) == []
    CompiledSchema(schema).problems([{"child": {}}])


def test_nothing_is_fetched_to_check_a_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert "nothing is fetched" in schema_problems({"$ref": "http://192.0.2.1/schema"})[0]


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("date-time", "2026-01-02T03:04:05Z", "yesterday"),
        ("uri", "https://example.com/a", "example"),
        ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8"),
        ("no-such-format", "anything", None),
    ],
)
def test_formats_of_the_dialect_are_enforced(name: str, right: str, wrong: str | None) -> None:
    """Was red: some were, some needed libraries that were not there."""
    schema = CompiledSchema({"type": "string", "format": name})
    assert schema.problems(right) == []
    assert wrong is None or schema.problems(wrong) == [FieldProblem("", f'must have the format "{name}"')]


def test_an_input_schema_must_describe_an_object(declare: Declare) -> None:
    assert "input_schema: must have" in declare(input_schema={"type": "array"}).problems()[0]


def test_the_examples_must_fit_their_schemas(declare: Declare) -> None:
    problems = declare(example_input={"number": "x"}, example_output="x").problems()
    assert ["example_input: /number" in problems[0], "example_output:" in problems[1]] == [True, True]


def test_a_schema_is_compiled_once(declare: Declare) -> None:
    service = declare()
    assert service._input is service._input
