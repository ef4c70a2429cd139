"""A buyer stops work that runs in a real worker (R7)."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from tests.chaos.parts import LEDGER_SECONDS
from tests.chaos.stage import Stage, all_up
from tests.support.invariants import check_invariants
from tests.support.localnet import running_localnet
from tests.support.processes import wait_until
from tests.support.redis_server import running_redis

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

LEASE_SECONDS = 60.0
"""Longer than the test: nothing here is found out by renewing a lease, or by its end."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Run the platform with leases as long as those of a deployment."""
    home = tmp_path_factory.mktemp("stage")
    with running_redis() as server, running_localnet(ledger_seconds=LEDGER_SECONDS) as net:
        net.state.close(2000)
        stage = Stage(server.url, net, home)
        stage.settings = replace(stage.settings, lease_seconds=LEASE_SECONDS)  # type: ignore[misc]
        with all_up(stage):
            yield stage


@pytest.mark.parametrize(("service", "charges"), [("after", 0), ("before", 1)])
def test_a_busy_loop_is_cancelled_and_its_slot_is_free_within_5_s(
    stage: Stage, service: str, charges: int
) -> None:
    """Issue: DELETE answers 202 at once; the job behind it runs, and only then would the budget end."""
    job_id, behind = (stage.buy(service, {"loop": loop}) for loop in (True, False))
    assert stage.has_come_to(job_id, Status.RUNNING)
    asked = stage.cancel(job_id)
    assert asked["status"] == "running"
    assert wait_until(lambda: stage.store.get(job_id).is_final, 5), stage.store.get(job_id)
    assert wait_until(lambda: stage.store.get(behind).is_final)
    job = stage.store.get(job_id)
    assert (job.status, job.charged, stage.charges(job)) == (Status.CANCELLED, bool(charges), charges)
    assert took_seconds(stage.store.get(behind)) < LEASE_SECONDS / 3
    check_invariants(stage.evidence())


def took_seconds(job: Job) -> float:
    return ((job.finished_at_ms or 0) - job.created_at_ms) / 1000
