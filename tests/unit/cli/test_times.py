"""Times as operators write and read them."""

import click
import pytest

from provider.cli._times import Since, age, now_ms


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("90m", 5400), ("12h", 43_200), ("7d", 604_800)])
def test_a_time_may_be_so_long_ago(text: str, seconds: int) -> None:
    """By this machine's clock."""
    assert abs(now_ms() - seconds * 1000 - Since().convert(text, None, None)) < 5000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-02", 86_400_000),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00Z", 0),
    ],
)
def test_a_time_may_be_written_out(text: str, ms: int) -> None:
    """UTC, unless it says."""
    assert Since().convert(text, None, None) == ms


@pytest.mark.parametrize("text", ["yesterday", "5", "5w", "-5m", "", "5 m"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no time: say 90m"):
        Since().convert(text, None, None)


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (0, "0s"),
        (119_000, "119s"),
        (120_000, "2m"),
        (7_199_000, "119m"),
        (7_200_000, "2h"),
        (172_800_000, "2d"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(ms: int, told: str) -> None:
    """Two of a unit at least, so that it is not rounded by half."""
    assert age(1000, 1000 + ms) == told


def test_no_time_has_no_age_and_a_clock_that_is_behind_makes_none() -> None:
    assert (age(None, 5), age(5000, 0)) == ("", "0s")
