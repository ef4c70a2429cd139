"""Prefer headers as callers really write them (RFC 7240, standard H3)."""

import pytest

from provider.web.http.prefer import Preference, parse_prefer


@pytest.mark.parametrize(
    "header",
    [
        "wait=10",
        "WAIT=10",
        ' wait = "10" ',
        "foo=bar, wait=10",
        "wait=10; x=y",
        "wait=10, wait=99",
        'a="b,c", wait=10',
    ],
)
def test_a_wait_is_understood_in_every_spelling(header: str) -> None:
    """Names ignore case, values may be quoted, the first of equal names counts."""
    assert parse_prefer(header).wait_seconds == 10


@pytest.mark.parametrize(
    "header", ["", "wait", "wait=", "wait=-1", "wait=1.5", "wait=ten", "=10", ",;,", 'wait="', "wait=²"]
)
def test_what_is_no_preference_is_ignored(header: str) -> None:
    """RFC 7240 wants unknown and malformed preferences ignored, never refused."""
    assert not parse_prefer(header).is_given


def test_respond_async_does_not_wait() -> None:
    """The plain asynchronous caller gets its job at once."""
    assert parse_prefer("respond-async").hold_seconds(default=25, limit=25) == 0


def test_respond_async_with_a_wait_waits_that_long() -> None:
    """RFC 7240 4.3: together they mean asynchronous, but only after the wait."""
    assert parse_prefer("respond-async, wait=5").hold_seconds(default=25, limit=25) == 5


def test_a_wait_is_capped() -> None:
    """A router in front would cut a longer one."""
    preference = parse_prefer("wait=3600")
    assert (preference.hold_seconds(default=0, limit=25), preference.applied(25)) == (25, "wait=25")


def test_without_a_preference_the_default_counts() -> None:
    """Calls wait by default, look-ups do not."""
    assert Preference().hold_seconds(default=7, limit=25) == 7


@pytest.mark.timeout(2, func_only=True)
def test_a_hostile_header_is_read_in_no_time() -> None:
    """Alternations that overlap would take exponential time on this."""
    assert not parse_prefer('"\\' * 8000 + "=" * 8000).is_given
