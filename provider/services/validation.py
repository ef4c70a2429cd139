"""Where a value does not fit a schema, found in a time that the size of the value bounds.

jsonschema-rs decides at once whether a value fits, but lists all errors before it gives the first, each with
a copy of the value: 14 s for an array of 300 000 wrong numbers. So errors are listed of small values only; a
large one is followed along `properties` and `items` to its small parts.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import chain, islice
from typing import Any
from urllib.parse import quote

from jsonschema_rs import Draft202012, Draft202012Validator, RegexOptions, Registry

from provider.services.conversion import JsonSchema
from provider.services.problems import FieldProblem, describe, escaped, pointer

Path = tuple[str | int, ...]
ROOT = "urn:schema"
SMALL = 4096
"""Characters and values, a value counting for `_VALUE`; the errors of so much are listed within 50 ms."""
_VALUE = 16
_OF_NAMES = (
    "type",
    "required",
    "dependentRequired",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
)
"""Keywords that see the names and the number of what is in a value, not the value of any."""
_OF_ALL = ("minLength", "maxLength", "pattern", "format", "uniqueItems", "enum", "const")
"""Keywords with one error at most."""

compiled = partial(
    Draft202012Validator,
    validate_formats=True,
    offline=True,
    pattern_options=RegexOptions(),  # The engine whose time follows the length of the text.
)


class Validation:
    """A schema, and those of its parts that were needed to find a problem."""

    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema
        self._parts = {"": compiled(schema)}

    @cached_property
    def registry(self) -> Registry:
        """Hold the schema alone, so that references lead nowhere else."""
        return Registry([(ROOT, self._schema)], draft=Draft202012)

    def problems(self, value: Any) -> Iterator[FieldProblem]:
        """Yield why the value does not fit: nothing only where it does."""
        if not self._parts[""].is_valid(value):
            yield from self._misfits(self._schema, "", value, ())

    def _misfits(self, schema: JsonSchema, place: str, value: Any, path: Path) -> Iterator[FieldProblem]:
        """Yield the problems of a value that does not fit the subschema at a place."""
        if _is_small(value):
            problems = _described(self._part(place), value, path)
        else:
            problems = chain(self._of_children(schema, place, value, path), _of_itself(schema, value, path))
        first = next(problems, None)
        yield first or FieldProblem(pointer(path), "does not fit the schema, and is too large to say why")
        yield from problems

    def _of_children(self, schema: JsonSchema, place: str, value: Any, path: Path) -> Iterator[FieldProblem]:
        for step, child in _entries(value):
            inside, below = _subschema(schema, step)
            if isinstance(below, dict) and not self._part(place + inside).is_valid(child):
                yield from self._misfits(below, place + inside, child, (*path, step))

    def _part(self, place: str) -> Draft202012Validator:
        if place not in self._parts:
            self._parts[place] = compiled({"$ref": f"{ROOT}#{place}"}, registry=self.registry)
        return self._parts[place]


def _is_small(value: Any) -> bool:
    """Return whether a value is small enough for all its errors to be listed."""
    return sum(islice(_weights(value), SMALL // _VALUE + 1)) <= SMALL


def _weights(value: Any) -> Iterator[int]:
    stack = [value]
    while stack:
        item = stack.pop()
        yield _VALUE + (len(item) if isinstance(item, str) else 0)
        if isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _entries(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _subschema(schema: JsonSchema, step: str | int) -> tuple[str, Any]:
    """Give the way to the subschema of a property or item, and that; None where none is for it alone."""
    if isinstance(step, str):
        properties = schema.get("properties", {})
        if step not in properties and "patternProperties" not in schema:
            return "/additionalProperties", schema.get("additionalProperties")
        return f"/properties/{quote(escaped(step))}", properties.get(step)
    first = schema.get("prefixItems", [])
    return (f"/prefixItems/{step}", first[step]) if step < len(first) else ("/items", schema.get("items"))


def _of_itself(schema: JsonSchema, value: Any, path: Path) -> Iterator[FieldProblem]:
    """Yield the problems that do not lie within a property or item."""
    rules = _some(schema, _OF_NAMES)
    if schema.get("additionalProperties") is False:
        known = ("properties", "patternProperties")
        rules |= {"additionalProperties": False} | {k: dict.fromkeys(schema.get(k, {}), True) for k in known}
    yield from _described(compiled(rules), _hollow(value), path)
    yield from _described(compiled(_some(schema, _OF_ALL)), value, path)


def _some(schema: JsonSchema, names: Iterable[str]) -> JsonSchema:
    return {name: schema[name] for name in names if name in schema}


def _hollow(value: Any) -> Any:
    if isinstance(value, dict):
        return dict.fromkeys(value)
    return [None] * len(value) if isinstance(value, list) else value


def _described(validator: Draft202012Validator, value: Any, path: Path) -> Iterator[FieldProblem]:
    for error in validator.iter_errors(value):
        yield from describe(error, path)
