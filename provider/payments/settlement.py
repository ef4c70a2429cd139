"""What a facilitator's answer to `/settle` means: three outcomes, and "nothing was sent" (standard §8).

A refusal ends a job unpaid, so only answers that prove it count as one: on Stellar `success: false` alone
proves nothing, the transfer may still land. What proves neither payment nor refusal is uncertain, and the
chain decides.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from provider.payments.reasons import REFUSED_BEFORE_SUBMISSION, as_word

_HASH = re.compile(r"[0-9a-fA-F]{64}")


class SettleKind(StrEnum):
    """How a settle call ended."""

    SETTLED = "settled"
    REFUSED = "refused"
    UNCERTAIN = "uncertain"
    NOT_SENT = "not_sent"


class Failure(StrEnum):
    """Why there is no JSON answer."""

    NOT_CONNECTED = "not_connected"
    """Refused connection, failed name look-up or connect time-out: no byte was sent."""
    TIMED_OUT = "no_answer_in_time"
    BROKEN = "connection_broken"
    TOO_LARGE = "answer_too_large"
    UNREADABLE = "answer_unreadable"
    """No JSON object: HTML, an empty body, truncated or ambiguous JSON."""


@dataclass(frozen=True, slots=True)
class FacilitatorAnswer:
    """What came back from a facilitator: a status with a JSON object, or a failure."""

    status: int | None = None
    body: Mapping[str, Any] | None = None
    failure: Failure | None = None
    retry_after_seconds: int | None = None
    """What it asked to wait, with 429 and 503."""
    redirect: str | None = None
    """Where a 3xx sends its callers, who do not follow it."""
    extensions: str | None = None
    """The header EXTENSION-RESPONSES: why a listing failed, for example."""


@dataclass(frozen=True, slots=True)
class SettleOutcome:
    """What a settle call did, as far as its answer shows."""

    kind: SettleKind
    transaction: str | None = None
    """The hash that was named, in lower case; kept when the outcome is uncertain, to look it up."""
    reason: str | None = None
    """The facilitator's `errorReason`, or ours why the answer does not count; None when settled."""
    payer: str | None = None


def classify(answer: FacilitatorAnswer, *, network: str, payer: str) -> SettleOutcome:
    """Read an answer to the first and only settle call of a claim (S4) by the table `_RULES`."""
    kind = next(kind for applies, kind in _RULES if applies(answer, network, payer))
    named = _text(answer, "payer")
    if kind is SettleKind.SETTLED:
        return SettleOutcome(kind, _hash(answer), payer=named)
    return SettleOutcome(kind, _hash(answer), _reason(answer), named)


def _nothing_was_sent(answer: FacilitatorAnswer, network: str, payer: str) -> bool:
    return answer.failure is Failure.NOT_CONNECTED


def _says_settled(answer: FacilitatorAnswer, network: str, payer: str) -> bool:
    body = _body_of_200(answer)
    return (
        body.get("success") is True
        and _hash(answer) is not None
        and body.get("network") == network
        and body.get("payer") in (payer, None)
    )


def _says_refused_before_submission(answer: FacilitatorAnswer, network: str, payer: str) -> bool:
    body = _body_of_200(answer)
    return (
        body.get("success") is False
        and body.get("transaction") in ("", None)
        and _text(answer, "errorReason") in REFUSED_BEFORE_SUBMISSION
    )


def _any(answer: FacilitatorAnswer, network: str, payer: str) -> bool:
    return True


_RULES: tuple[tuple[Callable[[FacilitatorAnswer, str, str], bool], SettleKind], ...] = (
    (_nothing_was_sent, SettleKind.NOT_SENT),
    (_says_settled, SettleKind.SETTLED),
    (_says_refused_before_submission, SettleKind.REFUSED),
    (_any, SettleKind.UNCERTAIN),
)


def _body_of_200(answer: FacilitatorAnswer) -> Mapping[str, Any]:
    return answer.body or {} if answer.status == 200 and answer.failure is None else {}


def _text(answer: FacilitatorAnswer, name: str) -> str | None:
    return as_word((answer.body or {}).get(name))


def _hash(answer: FacilitatorAnswer) -> str | None:
    value = (answer.body or {}).get("transaction")
    return value.lower() if isinstance(value, str) and _HASH.fullmatch(value) else None


def _reason(answer: FacilitatorAnswer) -> str:
    if answer.failure is not None:
        return answer.failure.value
    if answer.status != 200:
        return f"answer_status_{answer.status}"
    return _text(answer, "errorReason") or "answer_not_conclusive"
