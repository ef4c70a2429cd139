"""Whether a value is plain JSON, which a schema alone cannot check."""

import math
from collections.abc import Iterator
from typing import Any

from provider.services.problems import FieldProblem, pointer

MAX_DEPTH = 64  # Standard H9.
_MAX_BITS = 14_000  # Python refuses to print integers beyond 4300 digits, about 14 284 bits.


def not_json(value: Any) -> Iterator[FieldProblem]:
    """Yield what keeps the value from being sent as JSON: NaN, lone surrogates, other types, depth."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while stack:
        path, item = stack.pop()
        if len(path) > MAX_DEPTH:
            yield FieldProblem(pointer(path), f"is nested deeper than {MAX_DEPTH} levels")
            return
        if message := _message(item):
            yield FieldProblem(pointer(path), message)
        elif isinstance(item, dict):
            stack.extend(((*path, key), child) for key, child in reversed(item.items()))
        elif isinstance(item, list):
            stack.extend(((*path, index), item[index]) for index in reversed(range(len(item))))


def _message(item: Any) -> str | None:
    if isinstance(item, str):
        return None if _encodable(item) else "is not valid Unicode: it has a lone surrogate"
    if isinstance(item, int):
        return None if item.bit_length() <= _MAX_BITS else "has too many digits"
    if isinstance(item, float):
        return None if math.isfinite(item) else "must be a finite number"
    if isinstance(item, dict):
        return None if all(map(_is_key, item)) else "has a property name that is not Unicode text"
    return None if item is None or isinstance(item, list) else f"is a {type(item).__name__}, not JSON"


def _is_key(key: Any) -> bool:
    return isinstance(key, str) and _encodable(key)


def _encodable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
