"""JSON Schema 2020-12: check schemas, and values against them, without ever touching the network."""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from jsonschema_rs import Draft202012Validator, Resolver, ValidationError, ValidationErrorKind

from provider.services.conversion import JsonSchema
from provider.services.plain import not_json
from provider.services.problems import FieldProblem, pointer, shortened
from provider.services.validation import ROOT, Validation, compiled

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MAX_PROBLEMS = 20
_APPLIED_IN_PLACE = ("allOf", "anyOf", "oneOf")
Place = tuple[Any, Resolver]
"""A subschema with the resolver of the place it stands in."""


class CompiledSchema:
    """A schema that is ready to check values; it must be free of `schema_problems`."""

    def __init__(self, schema: JsonSchema) -> None:
        self.schema = schema
        self._validation = Validation(schema)

    @property
    def root(self) -> Place:
        """The whole schema, to look around in."""
        return self.schema, self._validation.registry.resolver(ROOT)

    def problems(self, value: Any) -> list[FieldProblem]:
        """Return the first problems of the value; empty when it is JSON and fits the schema."""
        found = list(islice(not_json(value), _MAX_PROBLEMS))
        return found or list(dict.fromkeys(islice(self._validation.problems(value), _MAX_PROBLEMS)))


def schema_problems(schema: Any) -> list[str]:
    """Return what is wrong with a schema; empty when values can be checked against it."""
    if not isinstance(schema, dict):
        return [f"must be a JSON Schema object or a marshmallow schema, not a {type(schema).__name__}"]
    if found := list(not_json(schema)):
        return [str(problem) for problem in found[:_MAX_PROBLEMS]]
    if schema.get("$schema", DIALECT) != DIALECT:
        return [f"$schema must be {DIALECT}"]
    return _dialect_problems(schema) or _reference_problems(schema)


def _dialect_problems(schema: JsonSchema) -> list[str]:
    found = (
        f"at {pointer(error.instance_path) or 'the top'}: {_dialect_message(error)}"
        for error in _meta().iter_errors(schema)
    )
    return list(dict.fromkeys(found))[:_MAX_PROBLEMS]


def _dialect_message(error: ValidationError) -> str:
    cause = error.kind.error if isinstance(error.kind, ValidationErrorKind.PropertyNames) else error
    if not isinstance(cause.kind, ValidationErrorKind.Format) or cause.kind.format != "regex":
        return shortened(error.message)
    wanted = "must be a regular expression that is matched in linear time"
    return f"{shortened(repr(cause.instance))} {wanted}: no look-around, no back-reference, no huge count"


@cache
def _meta() -> Draft202012Validator:
    """Build the validator of schemas; a pattern in them must be one that the engine for values takes."""
    return compiled({"$ref": DIALECT}, formats={"regex": _is_linear})


def _is_linear(pattern: str) -> bool:
    try:
        compiled({"pattern": pattern})
    except ValidationError:
        return False
    return True


def _reference_problems(schema: JsonSchema) -> list[str]:
    try:
        root = CompiledSchema(schema).root
    except ValidationError as error:
        return [f"{shortened(error.message)}; only references within the schema work, nothing is fetched"]
    try:
        list(applied_in_place(root))
    except RecursionError:
        return ["refers to itself without end"]
    return []


def applied_in_place(place: Place, entered: frozenset[tuple[str, str]] = frozenset()) -> Iterator[Place]:
    """Yield a subschema and what it applies to the same value: references and alternatives.

    Raises RecursionError where a reference leads to itself.
    """
    schema, resolver = place
    if not isinstance(schema, dict):
        return
    if "$id" in schema:
        resolver = resolver.lookup(schema["$id"]).resolver
    yield schema, resolver
    if "$ref" in schema:
        step = resolver.base_uri, schema["$ref"]
        if step in entered:
            raise RecursionError
        target = resolver.lookup(schema["$ref"])
        yield from applied_in_place((target.contents, target.resolver), entered | {step})
    for member in (member for key in _APPLIED_IN_PLACE for member in schema.get(key, [])):
        yield from applied_in_place((member, resolver), entered)
