"""What a handler may tell of its progress (R4)."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from provider.errors import DeterministicError, InvalidProgress
from provider.services.progress import Progress


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), -1, -0.001, 2**53 + 2, 10**5000, Fraction(10**400)]
    + [True, "7", None, Decimal(1), 1j, [1], object()],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_amount_is_refused(value: Any) -> None:
    """R4: not finite, negative, huge or odd; the error says which argument, and is the handler's own."""
    with pytest.raises(InvalidProgress, match=r"^done: must be a number") as error:
        Progress.reported(value)
    assert isinstance(error.value, DeterministicError)


def test_a_total_may_be_left_out_but_not_be_odd() -> None:
    assert Progress.reported(1).total is None
    with pytest.raises(InvalidProgress, match=r"^total"):
        Progress.reported(1, -1)


@pytest.mark.parametrize("value", [0, 7, 0.5, 2**53, Fraction(1, 2)])
def test_what_is_an_amount_is_stored_as_a_plain_number(value: Any) -> None:
    """Numbers of libraries are told apart by nobody who reads them."""
    told = Progress.reported(value, value)
    assert json.loads(json.dumps([told.done, told.total])) == [value, value]
    assert {type(told.done), type(told.total)} <= {int, float}


def test_more_may_be_done_than_was_expected() -> None:
    """A total is an estimate; a paid job does not fail for one that was too low, or nothing."""
    assert Progress.reported(3, 2).done == 3
    assert Progress.reported(0, 0).total == 0


def test_a_message_is_text_that_can_be_sent() -> None:
    """File names may hold anything, and a long one is cut rather than fail the job."""
    assert Progress.reported(1, None, "x" * 5000).message == "x" * 199 + "…"
    assert Progress.reported(1, None, "\udc80.csv").message == "?.csv"
    with pytest.raises(InvalidProgress, match="message: must be text or None, not int"):
        Progress.reported(1, None, 7)
