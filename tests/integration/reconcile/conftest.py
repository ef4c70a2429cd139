"""A scene for each test: one chain behind two RPCs, a real Redis, claims that nobody answered."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from stellar_sdk import Keypair

from tests.support.reconciling import WINDOW, Scene, running_scene


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep the chain's certificate for the session: making one takes longer than a test."""
    return tmp_path_factory.mktemp("chain")


@pytest.fixture
def scene(redis_url: str, certificates: Path) -> Iterator[Scene]:
    """Open a scene; the first RPC decides, the second is asked when a test says `rpcs=2`."""
    with running_scene(redis_url, certificates) as scene:
        yield scene


@pytest.fixture
def aged(redis_url: str, certificates: Path) -> Iterator[Scene]:
    """Open a scene on a network that began an hour ago: of the ledgers before that nothing is known."""
    with running_scene(redis_url, certificates, age=WINDOW) as scene:
        yield scene


@pytest.fixture
def issued(redis_url: str, certificates: Path) -> Iterator[Scene]:
    """Open a scene whose seller takes a token that he issues."""
    with running_scene(redis_url, certificates, issuer=Keypair.random()) as scene:
        yield scene
