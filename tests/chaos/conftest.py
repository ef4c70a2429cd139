"""One platform in real processes for all chaos tests of a module."""

from collections.abc import Iterator

import pytest

from tests.chaos.parts import LEDGER_SECONDS
from tests.chaos.stage import Stage, all_up
from tests.support.localnet import running_localnet
from tests.support.redis_server import running_redis


@pytest.fixture(autouse=True)
def _clean_world(stage: Stage) -> Iterator[None]:
    """Leave no fault and no plan to the next test."""
    yield
    stage.net.chain.faults.clear()
    stage.plan.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Run web, handle and settle processes over a local network; beat is the test's own."""
    home = tmp_path_factory.mktemp("stage")
    with running_redis() as server, running_localnet(ledger_seconds=LEDGER_SECONDS) as net:
        net.state.close(2000)  # So that the seconds of a ledger can be measured.
        stage = Stage(server.url, net, home)
        with all_up(stage):
            yield stage
