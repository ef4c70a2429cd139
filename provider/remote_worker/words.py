"""What a worker says of a job at its end, read from how its program ended (R6)."""

import json
from dataclasses import dataclass, field
from typing import Any

from provider.remote_worker.program import MOST_OUTPUT_BYTES, Ended

EX_DATAERR, EX_TEMPFAIL = 65, 75
"""Exit statuses of sysexits.h: a failure that would come again, and one that may pass."""
SIGNALLED = 128
"""Shells tell by a status above it that a signal ended a program."""


@dataclass(frozen=True, slots=True)
class Word:
    """What to tell the platform at the end of a job."""

    what: str
    said: dict[str, Any] = field(default_factory=dict)


NOTHING = Word("")
"""The job is not ours any more: nobody wants to know."""


def conclusion(ended: Ended) -> Word:
    """Read a program's end: its output, or the class of its failure by its exit status."""
    if ended.status == 0:
        return _output(ended.output)
    if ended.status < 0 or ended.status > SIGNALLED:
        return failure("interrupted", f"ended by signal {abs(ended.status) % SIGNALLED}")
    classes = {EX_DATAERR: "deterministic", EX_TEMPFAIL: "transient"}
    return failure(classes.get(ended.status, "error"), f"exit status {ended.status}")


def failure(kind: str, message: str) -> Word:
    """Give the word for a failure of a class (R6)."""
    return Word("fail", {"class": kind, "message": message})


def _output(text: bytes) -> Word:
    if len(text) > MOST_OUTPUT_BYTES:
        return failure("output_invalid", f"its output has more than {MOST_OUTPUT_BYTES} bytes")
    try:
        return Word("complete", {"output": json.loads(text)})
    except (ValueError, RecursionError) as error:
        return failure("output_invalid", f"its output is not JSON: {error}"[:500])
