"""The context for unit tests of handlers: what it refuses and shows is what the real one does (R3).

`tests/integration/jobs/test_handler_context.py` compares the two.
"""

import pytest

from provider.services import CheckpointRefused, Context
from provider.services.checkpoints import CheckpointLimits
from provider.services.testing import LocalContext


def test_the_local_context_is_a_context() -> None:
    """The assignment is what the type checker proves."""
    context: Context = LocalContext()
    context.progress(1, 2, "half")
    assert not context.cancelled.is_set()


def test_every_progress_is_remembered() -> None:
    context = LocalContext()
    context.progress(1, 2, "half")
    context.progress(2)
    assert context.reports == [(1, 2, "half"), (2, None, None)]


def test_a_completed_unit_drops_its_cursor_and_takes_no_other() -> None:
    """R5: per open unit, the cursor that was written last."""
    context = LocalContext()
    context.checkpoint("a", {"row": 5})
    context.checkpoint("b", 0)
    context.checkpoint("a")
    context.checkpoint("a", {"row": 6})
    assert (context.completed_units, context.cursors) == (frozenset({"a"}), {"b": 0})


def test_a_cursor_is_what_the_next_attempt_reads() -> None:
    """R5: JSON, so a tuple is a list, and what the handler changes later is not in it."""
    context, row = LocalContext(), (1, [2])
    context.checkpoint("a", row)
    row[1].append(3)
    assert context.cursors == {"a": [1, [2]]}


def test_the_next_attempt_sees_what_was_checkpointed() -> None:
    context = LocalContext(completed_units={"z"})
    context.checkpoint("a")
    context.checkpoint("b", 3)
    context.cancelled.set()
    context.checkpoint("c")
    later = context.next_attempt()
    assert (later.attempt, later.completed_units, later.cursors) == (2, {"a", "z"}, {"b": 3})
    assert not later.cancelled.is_set()


def test_limits_may_be_tried_out() -> None:
    """A handler's own test need not write a megabyte."""
    context = LocalContext(limits=CheckpointLimits(name=200, cursor=10, units=2, total=1000))
    with pytest.raises(CheckpointRefused, match="a cursor may have 10 bytes"):
        context.checkpoint("a", "x" * 9)
