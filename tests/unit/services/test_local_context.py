from provider.services import Context
from provider.services.testing import LocalContext


def test_the_local_context_is_a_context() -> None:
    """The assignment is what the type checker proves."""
    context: Context = LocalContext()
    context.progress(1, 2, "half")
    assert not context.cancelled.is_set()


def test_a_completed_unit_drops_its_cursor() -> None:
    context = LocalContext()
    context.checkpoint("a", {"row": 5})
    context.checkpoint("b", 0)
    context.checkpoint("a")
    assert (context.completed_units, context.cursors) == (frozenset({"a"}), {"b": 0})


def test_the_next_attempt_sees_what_was_checkpointed() -> None:
    context = LocalContext()
    context.checkpoint("a")
    context.checkpoint("b", 3)
    context.cancelled.set()
    later = context.next_attempt()
    assert (later.attempt, later.completed_units, later.cursors) == (2, frozenset({"a"}), {"b": 3})
    assert not later.cancelled.is_set()
