"""The official packages, installed, and a network for them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import Keypair

from provider.localnet.demo.background import background_platform
from tests.interop.node import Node, install, node_or_skip
from tests.support.localnet import LocalNet, running_localnet

OFFICIAL_FACILITATOR = Keypair.random()


@pytest.fixture(scope="session")
def npm() -> None:
    node_or_skip()
    install()


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Run the whole platform, with the services of the examples."""
    with background_platform(tmp_path_factory.mktemp("platform"), "examples.services") as described:
        yield described


@pytest.fixture
def net(tmp_path: Path) -> Iterator[LocalNet]:
    """A chain whose ledgers take one second, which all parties measure or are told."""
    with running_localnet(tmp_path, close_seconds=1, ledger_seconds=1) as network:
        network.state.fund(OFFICIAL_FACILITATOR.public_key)
        yield network


@pytest.fixture
def node(npm: None, net: LocalNet) -> Node:
    secrets = {"BUYER_SECRET": net.buyer.secret, "FACILITATOR_SECRET": OFFICIAL_FACILITATOR.secret}
    return Node(net.chain.url, net.chain.ca_file, secrets)
