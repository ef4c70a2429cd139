"""Judging what a handler came to, wherever it ran: its output, or the class of its failure (R6)."""

import json
from typing import Any

from provider.errors import DeterministicError
from provider.jobs.run.messages import Failed, Succeeded
from provider.services import Service


def judge_output(service: Service, output: Any) -> Succeeded | Failed:
    """Take what a handler returned for its output, if it is JSON that fits the schema."""
    try:
        text = to_json(output)
    except (TypeError, ValueError, RecursionError) as error:
        return Failed("output_invalid", f"not JSON: {error}")
    problems = service.validate_output(json.loads(text))
    if problems:
        return Failed("output_invalid", "; ".join(str(problem) for problem in problems))
    return Succeeded(text)


def judge_error(service: Service, error: BaseException, detail: str) -> Failed:
    """Class what a handler raised. `detail` is for the log only (E2)."""
    if service.is_transient(error):
        return Failed("transient", detail)
    return Failed("deterministic" if isinstance(error, DeterministicError) else "error", detail)


def to_json(value: Any) -> str:
    """Spell a value compactly. Raises TypeError or ValueError for what is no JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
