"""The example of a program for `provider remote-worker`: run as the worker runs it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.remote import services

PROGRAM = Path(__file__).parents[3] / "examples" / "primes.py"


def cursor(at: int, count: int, largest: int) -> dict[str, int]:
    """Stand where `examples/remote-worker.mjs` does: either may take over from the other."""
    return {"at": at, "count": count, "largest": largest}


def run(tmp_path: Path, value: Any, **cursors: Any) -> tuple[Any, list[Any]]:
    """Give the program's output and what it told meanwhile."""
    context, messages = tmp_path / "context.json", tmp_path / "messages"
    context.write_text(json.dumps({"completedUnits": [], "cursors": cursors}))
    environment = {"JOB_CONTEXT": str(context), "JOB_MESSAGES": str(messages)}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        input=json.dumps(value),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), [json.loads(line) for line in messages.read_text().splitlines()]


def test_the_example_of_the_service_is_true(tmp_path: Path) -> None:
    """What buyers are shown is what they get."""
    service = services.get("primes")
    assert run(tmp_path, service.example_input)[0] == service.example_output


@pytest.mark.parametrize("cursors", [{}, {"all": cursor(50_002, 5133, 49_999)}])
def test_an_interrupted_count_goes_on_at_its_cursor(tmp_path: Path, cursors: dict[str, Any]) -> None:
    """R5: with the same result."""
    output, told = run(tmp_path, {"below": 100_000}, **cursors)
    assert output == {"count": 9592, "largest": 99_991}
    assert told[-2]["checkpoint"] == {"unit": "all", "cursor": cursor(100_000, 9592, 99_991)}
    assert told[-1]["progress"] == {"done": 100_000, "total": 100_000}
