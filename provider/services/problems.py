"""Say what is wrong with a value, briefly and without echoing it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jsonschema_rs import ValidationError, ValidationErrorKind

from provider.errors import InvalidInput

_MAX_TEXT = 200


@dataclass(frozen=True)
class FieldProblem:
    """One thing wrong with one field; `field` is a JSON pointer, empty for the whole value."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field or 'the whole value'} {self.message}"


def refuse_input(problems: Sequence[FieldProblem]) -> None:
    """Raise InvalidInput naming each field, if there is any problem."""
    if problems:
        raise InvalidInput(fields=[{"field": one.field, "message": one.message} for one in problems])


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
    "falseSchema": "is not allowed",
}


def describe(error: ValidationError, path: Sequence[str | int] = ()) -> Iterator[FieldProblem]:
    """Turn an error of jsonschema-rs, whose own message repeats the value, into problems.

    `path` leads to the value that was checked.
    """
    if closest := _closest(error):
        for cause in closest:
            yield from describe(cause, path)
        return
    place = [*path, *error.instance_path]
    if isinstance(error.kind, ValidationErrorKind.Required):
        yield FieldProblem(pointer([*place, error.kind.property]), "is required")
    else:
        yield FieldProblem(pointer(place), _message(error.kind))


def _closest(error: ValidationError) -> list[ValidationError]:
    """Give what failed in the one alternative that is for values of this type; empty unless it is one."""
    alternatives = getattr(error.kind, "context", [])
    if not all(alternatives):  # One of them fits.
        return []
    fitting = [found for found in alternatives if not any(_is_of_type(one, error) for one in found)]
    return fitting[0] if len(fitting) == 1 else []


def _is_of_type(cause: ValidationError, error: ValidationError) -> bool:
    return cause.kind.name == "type" and cause.instance_path == error.instance_path


def _message(kind: ValidationErrorKind) -> str:
    if isinstance(kind, ValidationErrorKind.Type):
        return f"must be of type {' or '.join(sorted(kind.types, key=lambda name: (name == 'null', name)))}"
    if isinstance(kind, ValidationErrorKind.AdditionalProperties):
        return f"has unknown properties: {_listed(kind.unexpected)}"
    template = _MESSAGES.get(kind.name, f"breaks the rule {kind.name!r} of the schema")
    if "{}" not in template:
        return template
    return template.format(shortened(json.dumps(kind.value, ensure_ascii=False, default=str)))


def _listed(names: list[str]) -> str:
    shown = [shortened(name, 40) for name in names[:5]]
    return ", ".join(shown if len(names) <= 5 else [*shown, "…"])


def pointer(path: Iterable[str | int]) -> str:
    """Write a path as a JSON pointer (RFC 6901), cut where a hostile one would be long."""
    return shortened("".join(f"/{escaped(part)}" for part in path))


def escaped(part: str | int) -> str:
    """Spell one step of a JSON pointer."""
    return str(part).replace("~", "~0").replace("/", "~1")


def shortened(text: str, limit: int = _MAX_TEXT) -> str:
    """Cut a text that is too long to show; what cannot be sent as UTF-8 is replaced."""
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return shown.encode("utf-8", "replace").decode("utf-8")
