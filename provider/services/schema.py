"""JSON Schema 2020-12: check schemas, and values against them, without ever touching the network."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, EMPTY_REGISTRY

from provider.services.conversion import JsonSchema
from provider.services.plain import not_json
from provider.services.problems import FieldProblem, describe, pointer, shortened

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MAX_PROBLEMS = 20
_FORMATS = Draft202012Validator.FORMAT_CHECKER
_REFERENCES = ("$ref", "$dynamicRef")


class CompiledSchema:
    """A schema that is ready to check values; it must be free of `schema_problems`."""

    def __init__(self, schema: JsonSchema) -> None:
        self.schema = schema
        root: Resource[Any] = DRAFT202012.create_resource(schema)
        self.resolver = _registry(root).resolver_with_root(root)
        self.validator = Draft202012Validator(schema, registry=_registry(root), format_checker=_FORMATS)

    def problems(self, value: Any) -> list[FieldProblem]:
        """Return the first problems of the value; empty when it is JSON and fits the schema."""
        if found := list(islice(not_json(value), _MAX_PROBLEMS)):
            return found
        try:
            errors = list(islice(self.validator.iter_errors(value), _MAX_PROBLEMS))
        except RecursionError:
            return [FieldProblem("", "is nested too deeply to be checked")]
        except OverflowError:
            return [FieldProblem("", "has a number that is too large to be checked")]
        return list(dict.fromkeys(chain.from_iterable(map(describe, errors))))


def schema_problems(schema: Any) -> list[str]:
    """Return what is wrong with a schema; empty when values can be checked against it."""
    if not isinstance(schema, dict):
        return [f"must be a JSON Schema object or a marshmallow schema, not a {type(schema).__name__}"]
    if found := list(not_json(schema)):
        return [str(problem) for problem in found[:_MAX_PROBLEMS]]
    if schema.get("$schema", DIALECT) != DIALECT:
        return [f"$schema must be {DIALECT}"]
    return _dialect_problems(schema) or _reference_problems(schema) or _endless(schema)


def _dialect_problems(schema: JsonSchema) -> list[str]:
    meta = Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=_FORMATS)
    return [
        f"at {pointer(error.absolute_path) or 'the top'}: {shortened(error.message)}"
        for error in islice(meta.iter_errors(schema), _MAX_PROBLEMS)
    ]


def _reference_problems(schema: JsonSchema) -> list[str]:
    root: Resource[Any] = DRAFT202012.create_resource(schema)
    resolver = _registry(root).resolver_with_root(root)
    return sorted(set(_unresolved(root, resolver)))


def _unresolved(resource: Resource[Any], resolver: Any) -> Iterator[str]:
    inner = resolver.in_subresource(resource)
    if isinstance(resource.contents, dict):
        for reference in filter(None, map(resource.contents.get, _REFERENCES)):
            try:
                inner.lookup(reference)
            except Unresolvable:
                yield f"{shortened(reference)!r} refers to nothing in this schema; nothing is fetched"
    for child in resource.subresources():
        yield from _unresolved(child, inner)


def _endless(schema: JsonSchema) -> list[str]:
    try:
        list(CompiledSchema(schema).validator.iter_errors({}))
    except RecursionError:
        return ["refers to itself without end"]
    return []


def _registry(root: Resource[Any]) -> Registry[Any]:
    """Return a registry that knows the schema itself and can fetch nothing."""
    registry: Registry[Any] = EMPTY_REGISTRY.with_resource(root.id() or "", root)
    return registry.crawl()
