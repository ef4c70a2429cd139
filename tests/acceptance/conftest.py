"""One platform for all tests that only buy from it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provider.localnet.demo.background import background_platform

SERVICES = "tests.support.twins,tests.support.withheld"


@pytest.fixture(scope="session")
def platform_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the directory where the platform keeps its files and its log."""
    return tmp_path_factory.mktemp("platform")


@pytest.fixture(scope="session")
def platform(platform_home: Path) -> Iterator[dict[str, Any]]:
    """Run all processes, and give their description."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PAYER_OPEN_JOBS", "1000")  # One buyer makes all calls.
        with background_platform(platform_home, services=SERVICES) as told:
            yield told
