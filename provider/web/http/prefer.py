"""The Prefer header (RFC 7240): how long may this answer be held? (standard H3)"""

import re
from dataclasses import dataclass

# A quote that is never closed ends with the header; so every character is looked at once.
_PREFERENCE = re.compile(r'(?:[^,"]|"(?:\\.|[^"\\])*+(?:"|\\?\Z))++', re.DOTALL)
_SECONDS = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Preference:
    """What the caller prefers about waiting; both absent when it said nothing (intelligible)."""

    wait_seconds: int | None = None
    respond_async: bool = False

    @property
    def is_given(self) -> bool:
        return self.wait_seconds is not None or self.respond_async

    def hold_seconds(self, *, default: float, limit: float) -> float:
        """Return how long to hold the answer. `respond-async` with a wait means: only after that wait."""
        if self.wait_seconds is not None:
            return min(self.wait_seconds, limit)
        return 0 if self.respond_async else min(default, limit)

    def applied(self, limit: float) -> str:
        """Spell Preference-Applied."""
        wait = [] if self.wait_seconds is None else [f"wait={min(self.wait_seconds, int(limit))}"]
        return ", ".join([*(["respond-async"] if self.respond_async else []), *wait])


def parse_prefer(header: str) -> Preference:
    """Read the header; what is unknown or malformed is no preference, the first of equal names counts."""
    found: dict[str, str] = {}
    for item in _PREFERENCE.findall(header):
        name, _, value = item.partition(";")[0].partition("=")
        found.setdefault(name.strip().lower(), value.strip())
    wait = found.get("wait", "")
    quoted = len(wait) > 1 and wait[0] == wait[-1] == '"'
    seconds = _SECONDS.fullmatch(wait[1:-1] if quoted else wait)
    return Preference(int(seconds[0]) if seconds else None, "respond-async" in found)
