"""9, "Shown by": fifty strangers beside ten honest buyers on the whole platform.

A sample of three seconds; `python -m bench strangers` runs two minutes (bench/README.md has the figures,
those of Redis' memory too: 1 December 2026, 486 of 486 bought, p99 53 ms, nothing leaked).
"""

import pytest

from bench.strangers import SUCCESSES, measure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


def test_a_crowd_of_strangers_gets_nothing_and_keeps_nobody_from_buying() -> None:
    """Seen red with strangers that call from the buyers' own address: replays gave them outputs (J3)."""
    found = measure(3)
    assert found.calls["bought"] >= 5
    assert found.success_rate >= SUCCESSES, found.calls
    assert found.leaks == []
    assert found.jobs <= found.calls.total()
    assert {answer.split()[0] for answer in found.strangers} >= {
        "unpaid",
        "moneyless",
        "replaying",
        "half_sending",
    }
