"""Charge policies as values with answers (standard §3)."""

import math
from typing import Any

import pytest

from provider.services import ChargePolicy

ANSWERS: dict[ChargePolicy, dict[str, bool]] = {
    ChargePolicy.ON_SUCCESS: {"pays_first": False, "withholds_output": True, "refundable": False},
    ChargePolicy.UPFRONT: {"pays_first": True, "withholds_output": False, "refundable": True},
}


@pytest.mark.parametrize("policy", ChargePolicy)
def test_every_policy_answers_every_question(policy: ChargePolicy) -> None:
    """A policy without a row here was added without a decision."""
    assert {name: getattr(policy, name) for name in ANSWERS[policy]} == ANSWERS[policy]


def test_the_words_are_those_of_declarations_and_records() -> None:
    """They are stored in the terms of each job."""
    assert [policy.value for policy in ChargePolicy] == ["on-success", "upfront"]


@pytest.mark.parametrize(
    ("offered", "valid", "seconds"),
    [(300, math.inf, 290), (300, 100, 90), (5, math.inf, 1), (5, 4, -6)],
)
def test_work_that_is_paid_at_its_end_has_a_deadline(offered: float, valid: float, seconds: float) -> None:
    """S2: min(max(1, maxTimeoutSeconds − 10 s), close of the expiration ledger − 10 s)."""
    given: Any = {"offered_seconds": offered, "margin_seconds": 10, "valid_seconds": valid}
    assert ChargePolicy.ON_SUCCESS.deadline_seconds(**given) == seconds
    assert ChargePolicy.UPFRONT.deadline_seconds(**given) == math.inf
