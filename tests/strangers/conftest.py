"""Fixtures for the threat table."""

from collections.abc import Iterator

import pytest

from tests.support.jobs import Platform, running_platform


@pytest.fixture
def platform(redis_url: str) -> Iterator[Platform]:
    """Give a provider whose every step the test takes itself."""
    with running_platform(redis_url) as parts:
        yield parts
