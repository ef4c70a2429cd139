"""MOVES is the table of standard J4, and docs/states.md draws it."""

import re
from itertools import product
from pathlib import Path

import pytest

from provider.jobs.model.status import FINAL, MOVES, Status

J4 = {
    "pending": {"queued", "failed", "payment_uncertain"},
    "queued": {"running", "failed", "cancelled"},
    "running": {"running", "queued", "succeeded", "failed", "payment_uncertain", "cancelled"},
    "payment_uncertain": {"queued", "succeeded", "failed"},
    "succeeded": set[str](),
    "failed": set[str](),
    "cancelled": set[str](),
}
"""Typed in from the standard, not from the code."""
STATES = Path(__file__).parents[3] / "docs" / "states.md"
_EDGE = re.compile(r"^ *([a-z_]+|\[\*\]) --> ([a-z_]+|\[\*\])", re.MULTILINE)


@pytest.mark.parametrize(("source", "target"), list(product(Status, Status)))
def test_each_move_is_there_exactly_when_the_standard_has_it(source: Status, target: Status) -> None:
    """J4, edge by edge, absent ones included."""
    assert (target in MOVES[source]) == (target.value in J4[source.value])


def test_a_final_job_never_moves_again() -> None:
    """J4: the first decision stands."""
    assert {status for status in Status if not MOVES[status]} == FINAL


def test_the_diagram_has_the_edges_of_the_table() -> None:
    """docs/states.md cannot fall behind the code."""
    drawn = {edge for edge in _EDGE.findall(STATES.read_text()) if "[*]" not in edge}
    assert drawn == {(source.value, target.value) for source in Status for target in MOVES[source]}


def test_the_diagram_starts_and_ends_where_jobs_do() -> None:
    """A claim makes a job pending or queued; final jobs leave after their retention."""
    edges = _EDGE.findall(STATES.read_text())
    assert {target for source, target in edges if source == "[*]"} == {"pending", "queued"}
    assert {source for source, target in edges if target == "[*]"} == {status.value for status in FINAL}


def test_index_ranks_are_fixed() -> None:
    """Ranks are stored in scores: reordering the enumeration would mislabel every job of a running shop."""
    assert {status.value: status.code for status in Status} == {
        "pending": 1,
        "queued": 2,
        "running": 3,
        "payment_uncertain": 4,
        "succeeded": 5,
        "failed": 6,
        "cancelled": 7,
    }
