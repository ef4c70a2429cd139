"""Judging what a handler came to, wherever it ran: its output, or the class of its failure (R6)."""

import json
from collections.abc import Mapping
from typing import Any

from provider import strict_json
from provider.errors import DeterministicError, HandlerError, TransientError
from provider.jobs.run.messages import End, Failed, FailureClass, Succeeded
from provider.services import Service

RAISED: Mapping[FailureClass, type[HandlerError]] = {
    FailureClass.TRANSIENT: TransientError,
    FailureClass.DETERMINISTIC: DeterministicError,
    FailureClass.ERROR: HandlerError,
}
"""What a handler here would raise to fail in the same class."""


def judge_output(service: Service, output: Any) -> Succeeded | Failed:
    """Take what a handler returned for its output, if it is JSON that fits the schema."""
    try:
        text = strict_json.dumps(output)
    except (TypeError, ValueError, RecursionError) as error:
        return Failed(FailureClass.OUTPUT_INVALID, f"not JSON: {error}")
    if len(text) > service.max_output_bytes:
        detail = f"has {len(text)} bytes as JSON, more than max_output_bytes = {service.max_output_bytes}"
        return Failed(FailureClass.OUTPUT_INVALID, detail)
    problems = service.validate_output(json.loads(text))
    if problems:
        return Failed(FailureClass.OUTPUT_INVALID, "; ".join(str(problem) for problem in problems))
    return Succeeded(text)


def judge_error(service: Service, error: BaseException, detail: str) -> Failed:
    """Class what a handler raised. `detail` is for the log only (E2)."""
    if service.is_transient(error):
        return Failed(FailureClass.TRANSIENT, detail)
    deterministic = isinstance(error, DeterministicError)
    return Failed(FailureClass.DETERMINISTIC if deterministic else FailureClass.ERROR, detail)


def judge_failure(service: Service, kind: FailureClass, message: str) -> End | Failed:
    """Give the end that a failure is. `message` is for the log only (E2)."""
    if kind is FailureClass.INTERRUPTED:
        return End.DIED
    if kind is FailureClass.OUTPUT_INVALID:
        return Failed(kind, message)
    return judge_error(service, RAISED[kind](), message)
