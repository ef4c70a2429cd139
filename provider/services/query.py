"""Read a query string as JSON, guided by the input schema (GET /run/<name>?…)."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from provider.services.schema import CompiledSchema, Place, applied_in_place

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,99})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]{1,99})?([eE][+-]?[0-9]{1,3})?")
_LITERALS = {"true": ("boolean", True), "false": ("boolean", False), "null": ("null", None)}
_TYPE_OF = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def coerce(pairs: Iterable[tuple[str, str]], schema: CompiledSchema) -> dict[str, Any]:
    """Return the input that the pairs spell; text that fits no declared type stays text."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for name, text in pairs:
        texts[name].append(text)
    root = list(_expanded(schema.root))
    return {name: _value(found, list(_children(root, "properties", name))) for name, found in texts.items()}


def coerce_again(pairs: Iterable[tuple[str, str]], earlier: dict[str, Any]) -> dict[str, Any]:
    """Read a query string again whose schema is gone, by the types of what was read from it."""
    shapes = {name: _shape(value) for name, value in earlier.items()}
    return coerce(pairs, CompiledSchema({"properties": shapes}))


def _shape(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"type": "array", "items": {"type": sorted({_type_of(item) for item in value})}}
    return {"type": _type_of(value)}


def _type_of(value: Any) -> str:
    found = _TYPE_OF.get(type(value), "object")
    return "number" if found == "integer" else found  # `1e3` may be stored as 1000.


def _value(texts: list[str], places: list[Place]) -> Any:
    types = _types(places)
    if "array" in types and (len(texts) > 1 or "string" not in types):
        item_types = _types(list(_children(places, "items")))
        return [_scalar(text, item_types) for text in texts]
    return _scalar(texts[0], types) if len(texts) == 1 else list(texts)


def _scalar(text: str, types: set[str]) -> Any:
    kind, literal = _LITERALS.get(text, ("", None))
    if kind in types:
        return literal
    if types & {"integer", "number"} and _INTEGER.fullmatch(text):
        return int(text)
    if types & {"integer", "number"} and _NUMBER.fullmatch(text):
        number = float(text)
        if "number" in types or number.is_integer():
            return number
    return None if not text and "null" in types and "string" not in types else text


def _types(places: list[Place]) -> set[str]:
    types: set[str] = set()
    for schema, _ in places:
        declared = schema.get("type", [])
        types.update([declared] if isinstance(declared, str) else declared)
        if not declared:
            values = [*schema.get("enum", []), *([schema["const"]] if "const" in schema else [])]
            types.update(_TYPE_OF.get(type(value), "") for value in values)
    return types


def _children(places: Iterable[Place], *keys: str) -> Iterator[Place]:
    """Yield the subschemas found under these keys, expanded."""
    for schema, resolver in places:
        child: Any = schema
        for key in keys:
            child = child.get(key) if isinstance(child, dict) else None
        yield from _expanded((child, resolver))


def _expanded(place: Place) -> Iterator[Place]:
    with suppress(RecursionError):  # What lies beyond leads nowhere.
        yield from applied_in_place(place)
