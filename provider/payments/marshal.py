"""What the x402 schemas are made of: strict fields, and errors that name each field."""

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, pre_load

from provider import errors

_DIGITS = re.compile(r"0|[1-9][0-9]{0,38}")


class Amount(fields.Field[int]):
    """Atomic units: an int here, a string of digits on the wire."""

    def _serialize(self, value: int | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else str(value)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if not isinstance(value, str) or not _DIGITS.fullmatch(value):
            raise ValidationError('Must be a string of digits, such as "10000".')
        return int(value)


class Flag(fields.Boolean):
    """A boolean that is one: marshmallow's own also takes `1` and `"true"`."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise ValidationError("Must be a boolean.")
        return value


class WireSchema(Schema):
    """A schema that ignores what it does not know."""

    class Meta:
        unknown = EXCLUDE

    @pre_load
    def drop_nulls(self, data: Any, **kwargs: Any) -> Any:
        """Read `null` as absent: Python and Go clients write their empty optional fields so."""
        return {k: v for k, v in data.items() if v is not None} if isinstance(data, Mapping) else data


def object_field() -> fields.Dict:
    """Make a field for a JSON object that may be absent."""
    return fields.Dict(keys=fields.String(), load_default=dict)


def load(schema: Schema, obj: Any, error: type[errors.CallError], what: str) -> Any:
    """Load with a schema; what does not fit is an `error` with a dictionary `errors` of dotted names."""
    try:
        return schema.load(obj)
    except ValidationError as problem:
        named = dict(flatten(problem.messages))
        text = "; ".join(f"{field}: {message}" for field, message in named.items())
        raise error(f"{what} does not fit x402 v2: {text}", errors=named) from None


def flatten(messages: Any, path: str = "") -> list[tuple[str, str]]:
    """Flatten marshmallow's tree of messages into dotted names."""
    if not isinstance(messages, Mapping):
        return [(path, " ".join(str(m) for m in messages))]
    return [item for key, value in messages.items() for item in flatten(value, _join(path, str(key)))]


def _join(path: str, key: str) -> str:
    name = "" if key == "_schema" else key
    return f"{path}.{name}" if path and name else path or name
