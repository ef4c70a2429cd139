"""Long work in real workers that are killed again and again: it goes on where it was (R5, R6)."""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator

import pytest

from examples.monte_carlo import BLOCKS, price_option
from provider.jobs.model.status import Status
from provider.services.testing import LocalContext
from tests.chaos.parts import LEDGER_SECONDS
from tests.chaos.simulation import INPUT, KILLS
from tests.chaos.stage import Stage, all_up
from tests.support.invariants import check_invariants
from tests.support.localnet import running_localnet
from tests.support.processes import wait_until
from tests.support.redis_server import running_redis
from tests.support.timetravel import pass_time

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Sell the simulation alone; sweeps are the test's own."""
    with running_redis() as server, running_localnet(ledger_seconds=LEDGER_SECONDS) as net:
        net.state.close(2000)
        home = tmp_path_factory.mktemp("simulation")
        stage = Stage(server.url, net, home, services="tests.chaos.simulation")
        with all_up(stage):
            yield stage


def test_a_simulation_that_is_killed_five_times_gives_the_same_numbers(stage: Stage) -> None:
    """Issue: each block is computed once, and once more at most for a kill; a start for each kill and one."""
    job_id = stage.buy("monte-carlo", INPUT)
    for number in range(KILLS):
        before = blocks_stored(stage, job_id)
        assert wait_until(lambda before=before: blocks_stored(stage, job_id) > before, 30)  # type: ignore[misc]
        kill_the_worker(stage, whole=number % 2 == 1)
        pass_time(stage.store.client, stage.settings.lease_seconds + 1)
        stage.sweep()
    assert wait_until(lambda: stage.store.get(job_id).is_final, 60)
    job = stage.store.get(job_id)
    assert (job.status, job.starts, job.interruptions) == (Status.SUCCEEDED, KILLS + 1, KILLS)
    assert json.loads(job.output or "") == price_option({**INPUT, "pace_seconds": 0}, LocalContext())
    check_blocks(stage)
    check_invariants(stage.evidence())


def kill_the_worker(stage: Stage, *, whole: bool) -> None:
    """Kill the child of Celery's pool that has the job, or the whole worker, which starts again."""
    if whole:
        stage.stop("handle")
        stage.start("handle")
    else:
        os.kill(int((stage.home / "workers").read_text().split()[-1]), signal.SIGKILL)


def blocks_stored(stage: Stage, job_id: str) -> int:
    """Read how many blocks the open unit's cursor has."""
    return int(stage.store.work(job_id)[1].get(BLOCKS, {}).get("blocks", 0))


def check_blocks(stage: Stage) -> None:
    computed = Counter(map(int, (stage.home / "blocks").read_text().split()))
    assert sorted(computed) == list(range(1, INPUT["units"] + 1))
    assert computed.total() - len(computed) <= KILLS
