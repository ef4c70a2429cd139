"""Times for people, and from them."""

import re
from datetime import UTC, datetime
from typing import Any

import click

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_AGO = re.compile(r"(\d{1,9})([smhd])")


class Since(click.ParamType[int]):
    """A time in the past: `90m` for ninety minutes ago (s, m, h, d), or ISO 8601, in UTC unless it says."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Give the time in ms since the epoch."""
        if ago := _AGO.fullmatch(value):
            return now_ms() - int(ago[1]) * UNITS[ago[2]] * 1000
        try:
            then = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time: say 90m, 12h, 7d or 2026-11-30T08:00", param, ctx)
        return int((then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() * 1000)


def now_ms() -> int:
    """Return the time of this machine's clock."""
    return int(datetime.now(UTC).timestamp() * 1000)


def age(ms: int | None, now: int) -> str:
    """Write how long ago something was, in its largest unit."""
    if ms is None:
        return ""
    seconds = max(0, now - ms) // 1000
    unit, size = next(((u, s) for u, s in reversed(UNITS.items()) if seconds >= 2 * s), ("s", 1))
    return f"{seconds // size}{unit}"
