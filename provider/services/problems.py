"""Say what is wrong with a value, briefly and without echoing it."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jsonschema.exceptions import ValidationError, best_match

_MAX_TEXT = 200


@dataclass(frozen=True)
class FieldProblem:
    """One thing wrong with one field; `field` is a JSON pointer, empty for the whole value."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field or 'the whole value'} {self.message}"


_MESSAGES = {
    "enum": "must be one of {}",
    "const": "must be {}",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} properties",
    "maxProperties": "must have at most {} properties",
    "uniqueItems": "must not have an item twice",
    "pattern": "must match the pattern {}",
    "format": "must have the format {}",
    "anyOf": "fits none of the alternatives",
    "oneOf": "must fit exactly one of the alternatives",
    "contains": "lacks an item that it must contain",
    "unevaluatedProperties": "has properties that are not known",
}


def describe(error: ValidationError) -> Iterator[FieldProblem]:
    """Turn an error of jsonschema, whose own message repeats the value, into problems."""
    error = best_match([error]) or error  # Of alternatives, what failed in the closest one.
    path = list(error.absolute_path)
    if error.validator == "required":
        required: Any = error.validator_value
        given: Any = error.instance
        missing = (name for name in required if name not in given)
        yield from (FieldProblem(pointer([*path, name]), "is required") for name in missing)
    else:
        yield FieldProblem(pointer(path), _message(error))


def _message(error: ValidationError) -> str:
    expected: Any = error.validator_value
    rule: Any = error.validator  # None, too, where a schema is just `false`.
    if rule == "type":
        types = [expected] if isinstance(expected, str) else expected
        return f"must be of type {' or '.join(types)}"
    if rule == "additionalProperties":
        return f"has unknown properties: {_listed(_unknown(error))}"
    if rule is None:
        return "is not allowed"
    template = _MESSAGES.get(rule, f"breaks the rule {rule!r} of the schema")
    return template.format(shortened(json.dumps(expected, ensure_ascii=False)))


def _unknown(error: ValidationError) -> list[str]:
    instance: Any = error.instance
    schema: Any = error.schema
    patterns = schema.get("patternProperties", {})
    known = schema.get("properties", {})
    return [name for name in instance if name not in known and not any(re.search(p, name) for p in patterns)]


def _listed(names: list[str]) -> str:
    shown = [shortened(name, 40) for name in names[:5]]
    return ", ".join(shown if len(names) <= 5 else [*shown, "…"])


def pointer(path: Iterable[str | int]) -> str:
    """Write a path as a JSON pointer (RFC 6901), cut where a hostile one would be long."""
    return shortened("".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path))


def shortened(text: str, limit: int = _MAX_TEXT) -> str:
    """Cut a text that is too long to show; what cannot be sent as UTF-8 is replaced."""
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return shown.encode("utf-8", "replace").decode("utf-8")
