"""One wheel for all tests here, and empty environments to install it into."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packaging.environments import Environment, build_wheel, download


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from what a checkout holds."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def packages(wheel: Path) -> Path:
    """Fetch all that the wheel needs with the extras of a seller, beside it."""
    download(wheel, "platform,local", "pytest")
    return wheel.parent


@pytest.fixture(scope="session")
def install(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Environment]:
    """Give a function that makes an empty environment and installs requirements into it."""

    def install(*requirements: str) -> Environment:
        home = tmp_path_factory.mktemp("environment")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True, timeout=60)
        environment = Environment(home)
        environment.install(packages, *requirements)
        return environment

    return install


@pytest.fixture(scope="session")
def buyer(install: Callable[..., Environment]) -> Environment:
    """Install the bare package, as a buyer does."""
    return install("x402-provider")
