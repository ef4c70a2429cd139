"""What a check saw, how grave that is, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How a check ended."""

    OK = "ok"
    ADVICE = "advice"
    """It works, and something would make it safer."""
    FAIL = "fail"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check saw, and what to do about it."""

    check: str
    level: Level
    seen: str
    advice: str = ""


def ok(check: str, seen: str) -> Finding:
    return Finding(check, Level.OK, seen)


def advise(check: str, seen: str, advice: str) -> Finding:
    return Finding(check, Level.ADVICE, seen, advice)


def fail(check: str, seen: str, advice: str) -> Finding:
    return Finding(check, Level.FAIL, seen, advice)


def skipped(check: str, seen: str) -> Finding:
    return Finding(check, Level.SKIPPED, seen)
