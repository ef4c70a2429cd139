"""What a job's attempts completed and where its open units stand (R5): the same wherever a handler runs."""

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from provider import strict_json
from provider.errors import CheckpointRefused
from provider.services.plain import not_json
from provider.settings import Settings

_TOLD = {
    "name": "the name of a unit may have {} bytes (CHECKPOINT_NAME_BYTES)",
    "cursor": "a cursor may have {} bytes as JSON (CHECKPOINT_CURSOR_BYTES)",
    "units": "a job may have {} units (CHECKPOINT_UNITS)",
    "total": "names and cursors of a job may have {} bytes together (CHECKPOINT_TOTAL_BYTES)",
}


@dataclass(frozen=True, slots=True)
class CheckpointLimits:
    """How much the checkpoints of one job may hold."""

    name: int
    """Bytes of a unit's name."""
    cursor: int
    """Bytes of a cursor, as JSON."""
    units: int
    total: int
    """Bytes of all names and cursors."""

    @classmethod
    def of(cls, settings: Settings) -> "CheckpointLimits":
        return cls(
            name=settings.checkpoint_name_bytes,
            cursor=settings.checkpoint_cursor_bytes,
            units=settings.checkpoint_units,
            total=settings.checkpoint_total_bytes,
        )

    def passed(self, limit: str) -> CheckpointRefused:
        """Give the error for a limit that is passed: the name of one of the fields."""
        return CheckpointRefused(_TOLD[limit].format(getattr(self, limit)))


DEFAULT_LIMITS = CheckpointLimits.of(Settings())


class Checkpoints:
    """The units of one job. What handlers see of them stays up to date, and is not theirs to change."""

    def __init__(
        self, limits: CheckpointLimits, completed: Iterable[str], cursors: Mapping[str, Any]
    ) -> None:
        self._limits = limits
        self._completed = dict.fromkeys(completed)
        self._cursors = dict(cursors)
        self._sizes = {unit: _bytes(unit) for unit in self._completed}
        self._sizes |= {unit: _bytes(unit) + len(strict_json.dumps(value)) for unit, value in cursors.items()}
        self._total = sum(self._sizes.values())

    @property
    def completed_units(self) -> AbstractSet[str]:
        return self._completed.keys()

    @property
    def cursors(self) -> Mapping[str, Any]:
        return MappingProxyType(self._cursors)

    def spell(self, unit: Any, cursor: Any) -> str:
        """Give the cursor as JSON text, '' for None, if it may be stored. Raises CheckpointRefused."""
        text, unit = cursor_text(cursor), unit_name(unit)
        if _bytes(unit) > self._limits.name:
            raise self._limits.passed("name")
        if len(text) > self._limits.cursor:
            raise self._limits.passed("cursor")
        self._check_room(unit, text)
        return text

    def note(self, unit: str, text: str) -> None:
        """Take a checkpoint for stored; a completed unit drops its cursor, and takes no other."""
        if unit in self._completed:
            return
        size = _bytes(unit) + len(text)
        self._total += size - self._sizes.get(unit, 0)
        self._sizes[unit] = size
        if text:
            self._cursors[unit] = json.loads(text)
        else:
            self._completed[unit] = None
            self._cursors.pop(unit, None)

    def _check_room(self, unit: str, text: str) -> None:
        """Compare with the limits as `checkpoint.lua` does: what takes no more room is never refused."""
        if unit in self._completed:
            return
        before = self._sizes.get(unit)
        if before is None and len(self._sizes) >= self._limits.units:
            raise self._limits.passed("units")
        grown = _bytes(unit) + len(text) - (before or 0)
        if grown > 0 and self._total + grown > self._limits.total:
            raise self._limits.passed("total")


def unit_name(unit: Any) -> str:
    """Take a unit's name, if it is one. Raises CheckpointRefused."""
    if not isinstance(unit, str):
        raise CheckpointRefused(f"the name of a unit must be text, not {type(unit).__name__}")
    if not unit or list(not_json(unit)):
        raise CheckpointRefused("the name of a unit must not be empty, and valid Unicode")
    return unit


def cursor_text(cursor: Any) -> str:
    """Spell a cursor as JSON that every attempt can read back, '' for None. Raises CheckpointRefused."""
    if cursor is None:
        return ""
    try:
        text = strict_json.dumps(cursor)
        problems = list(not_json(json.loads(text)))
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointRefused(f"a cursor must be JSON: {error}") from error
    if problems:
        raise CheckpointRefused(f"a cursor must be JSON: {problems[0]}")
    return text


def _bytes(text: str) -> int:
    return len(text.encode())
