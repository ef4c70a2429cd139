"""What a declaration must satisfy before anything is sold (standard §1, P1)."""

import inspect
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from provider.services.charge import ChargePolicy
from provider.services.context import no_handler
from provider.services.price import parse_price
from provider.services.schema import CompiledSchema, schema_problems

SETTLE_MARGIN_SECONDS = 10
MOST_INPUT_BYTES = 1024 * 1024
"""Standard H9: more is not read of any body."""
MOST_OUTPUT_BYTES = 64 * 1024 * 1024
"""A record is one hash, read as a whole; Redis takes 512 MiB by itself."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
_MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w.+-]+)*", re.ASCII)
_MAX_DESCRIPTION = 499


@dataclass(frozen=True)
class _NumberRange:
    """A range of numbers: from `least`, which is excluded where it is 0 and `positive` is set."""

    least: float = 0
    most: float = math.inf
    positive: bool = False
    whole: bool = False
    optional: bool = False

    def allows(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return math.isfinite(value) and self.least <= value <= self.most and (value > 0 or not self.positive)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        bound = "more than 0" if self.positive else f"{self.least} or more"
        bound += f", at most {self.most}" if math.isfinite(self.most) else ""
        return f"{kind}, {bound}{', or None' if self.optional else ''}"


_NUMBERS = {
    "timeout_seconds": _NumberRange(positive=True),
    "concurrency": _NumberRange(whole=True, least=1),
    "max_queued": _NumberRange(whole=True, least=1),
    "max_wait_seconds": _NumberRange(),
    "expected_seconds": _NumberRange(positive=True, optional=True),
    "max_retries": _NumberRange(whole=True),
    # Progress is written once a second (R4), so less would take every job for stalled.
    "stall_seconds": _NumberRange(least=2, optional=True),
    "max_attempts": _NumberRange(whole=True, least=1, optional=True),
    "max_timeout_seconds": _NumberRange(whole=True, least=1),
    "max_input_bytes": _NumberRange(whole=True, least=1, most=MOST_INPUT_BYTES),
    "max_output_bytes": _NumberRange(whole=True, least=1, most=MOST_OUTPUT_BYTES),
}
_FLAGS = ("other_errors_transient", "remote")


def declaration_problems(service: Any, settle_margin_seconds: float) -> Iterator[str]:
    """Yield every problem as `field: what is wrong`."""
    yield from _words(service)
    yield from _money(service)
    yield from _running(service)
    yield from _limits(service, settle_margin_seconds)
    yield from _schemas(service)


def _words(service: Any) -> Iterator[str]:
    if not isinstance(service.name, str) or not _NAME.fullmatch(service.name):
        yield f"name: must match {_NAME.pattern}"
    if not isinstance(service.description, str) or not service.description.strip():
        yield "description: must say what the service does"
    elif len(service.description) > _MAX_DESCRIPTION:
        yield f"description: has {len(service.description)} characters, more than {_MAX_DESCRIPTION}"
    if not isinstance(service.mime_type, str) or not _MIME_TYPE.fullmatch(service.mime_type):
        yield f"mime_type: must be a media type like application/json, not {service.mime_type!r:.60}"
    if not isinstance(service.tags, tuple) or not all(isinstance(tag, str) and tag for tag in service.tags):
        yield "tags: must be a tuple of words"


def _money(service: Any) -> Iterator[str]:
    try:
        parse_price(service.price)
    except ValueError as error:
        yield f"price: {error}"
    if not isinstance(service.charge, ChargePolicy):
        policies = " or ".join(f'"{policy}"' for policy in ChargePolicy)
        yield f"charge: must be {policies}, not {service.charge!r:.60}"


def _running(service: Any) -> Iterator[str]:
    if service.handler is no_handler and not service.remote:
        yield "handler: is missing; only a remote service may go without"
    elif not _takes_input_and_context(service.handler):
        yield "handler: must be an ordinary function of input and context"
    if not isinstance(service.transient, tuple) or not all(map(_is_exception, service.transient)):
        yield "transient: must be a tuple of exception types"
    for field in _FLAGS:
        if not isinstance(getattr(service, field), bool):
            yield f"{field}: must be True or False"


def _takes_input_and_context(handler: Any) -> bool:
    if not callable(handler) or inspect.iscoroutinefunction(handler):
        return False
    try:
        inspect.signature(handler).bind({}, None)
    except (TypeError, ValueError):
        return False
    return True


def _is_exception(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)


def _limits(service: Any, settle_margin_seconds: float) -> Iterator[str]:
    wrong = [field for field, number in _NUMBERS.items() if not number.allows(getattr(service, field))]
    for field in wrong:
        yield f"{field}: must be {_NUMBERS[field]}, not {getattr(service, field)!r:.60}"
    charge, limits = service.charge, {"timeout_seconds", "max_timeout_seconds"}
    if limits & set(wrong) or not isinstance(charge, ChargePolicy) or not charge.withholds_output:
        return
    work, offered = service.timeout_seconds, service.max_timeout_seconds
    if work + settle_margin_seconds > offered:
        yield (
            f"timeout_seconds: {work} s of work and {settle_margin_seconds} s to settle do not fit"
            f" max_timeout_seconds = {offered}, so no job could be charged (P1);"
            " lower the one, raise the other, or charge upfront"
        )


def _schemas(service: Any) -> Iterator[str]:
    for side in ("input", "output"):
        schema = getattr(service, f"{side}_schema")
        if problems := schema_problems(schema):
            yield from (f"{side}_schema: {problem}" for problem in problems)
        elif (example := getattr(service, f"example_{side}")) is not None:
            found = CompiledSchema(schema).problems(example)
            yield from (f"example_{side}: {problem}" for problem in found)
        if side == "input" and not problems and schema.get("type") != "object":
            yield 'input_schema: must have "type": "object" at its top, since inputs are JSON objects'
