"""JSON as it may cross a border: no NaN, no duplicate keys, no half characters, bounded depth.

Two readers that disagree about a document can be played against each other, so whatever JSON leaves open
(which of two equal keys counts, what `NaN` is, half a surrogate pair) is refused here.
"""

import json
import math
from typing import Any, NoReturn

MAX_DEPTH = 64
MOST_DIGITS = 4300


def parse(text: str | bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """Parse JSON strictly.

    Raises:
        ValueError: with a message that says what is wrong.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")  # Some libraries of Windows write a byte order mark.
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON from line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError(f"it is nested deeper than {max_depth} levels") from None
    if text.count("{") + text.count("[") > max_depth and depth(value) > max_depth:
        raise ValueError(f"it is nested deeper than {max_depth} levels")
    if "\\u" in text:
        _refuse_lone_surrogates(value)
    return value


def parse_object(text: str | bytes, *, max_depth: int = MAX_DEPTH) -> dict[str, Any]:
    """Parse a JSON object strictly; raises ValueError as `parse` does."""
    value = parse(text, max_depth=max_depth)
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def dumps(value: object) -> str:
    """Spell compact JSON in ASCII, as records and messages hold it; NaN and infinities are a `ValueError`."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def compact(value: object) -> bytes:
    """Serialise to compact UTF-8 JSON; NaN and infinities are a `ValueError`."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def same_json(one: object, other: object) -> bool:
    """Compare as JSON: key order does not count, but `1` is not `true` (as it is for Python)."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object in it has the same key twice")
    return found


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"the number {text[:20]}… has too many digits")
    return int(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
)


def depth(value: object) -> int:
    """Count the levels of objects and lists in a JSON value."""
    levels, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        levels += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return levels


def _refuse_lone_surrogates(value: object) -> None:
    try:
        compact(value)
    except UnicodeEncodeError:
        raise ValueError("a string in it has half of a surrogate pair") from None
