"""The final report on a job, derived from how its program ended (R6)."""

from dataclasses import dataclass, field
from typing import Any

from provider import strict_json
from provider.remote_worker.program import MOST_OUTPUT_BYTES, Ended

EX_DATAERR, EX_TEMPFAIL = 65, 75
"""Exit statuses of sysexits.h for a deterministic and a transient failure."""
SIGNALLED = 128
"""Shells add the number of the signal that ended a program to this status."""


@dataclass(frozen=True, slots=True)
class Report:
    """A request about a job: the action of the gateway's URL, and the fields of its body."""

    action: str
    fields: dict[str, Any] = field(default_factory=dict)


NO_REPORT = Report("")
"""The lease is lost: a report would be refused."""


def report_end(ended: Ended) -> Report:
    """Report a program's output, or the class of its failure by its exit status."""
    if ended.status == 0:
        return _report_output(ended.output)
    if ended.status < 0 or ended.status > SIGNALLED:
        return report_failure("interrupted", f"ended by signal {abs(ended.status) % SIGNALLED}")
    classes = {EX_DATAERR: "deterministic", EX_TEMPFAIL: "transient"}
    return report_failure(classes.get(ended.status, "error"), f"exit status {ended.status}")


def report_failure(kind: str, message: str) -> Report:
    """Report a failure of a class (R6)."""
    return Report("fail", {"class": kind, "message": message})


def _report_output(text: bytes) -> Report:
    if len(text) > MOST_OUTPUT_BYTES:
        return report_failure("output_invalid", f"its output has more than {MOST_OUTPUT_BYTES} bytes")
    try:
        return Report("complete", {"output": strict_json.parse(text)})
    except ValueError as error:
        return report_failure("output_invalid", f"its output is not JSON: {error}"[:500])
