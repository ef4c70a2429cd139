"""What is finished makes room when the operator says so, and keeps no recovery waiting (issue 9.12)."""

import pytest

from provider.jobs.model.status import Status
from provider.jobs.recover import sweep
from provider.jobs.recover.sweep import Sweep
from provider.jobs.store.jobs import JobStore
from tests.support.jobs import Platform
from tests.support.timetravel import pass_time


def shortened(platform: Platform, seconds: float) -> Sweep:
    """Make the sweep of a process that was started with another RETENTION_SECONDS."""
    made = platform.made
    store = JobStore(platform.store.client, retention_seconds=seconds)
    return Sweep(store, platform.registry, made.settler, platform.clock, platform.wakeups, platform.settings)


def test_a_shorter_retention_counts_for_jobs_that_are_finished_already(platform: Platform) -> None:
    """Red before: the time was stamped when a job finished, a week in advance."""
    job = platform.finish(platform.buy())
    platform.clock.latest_ledger += 1_000
    pass_time(platform.store.client, 3_600)
    assert platform.sweep.run().actions == {}
    assert shortened(platform, 1_800).run().actions == {"forget": 1}
    assert platform.store.get_many([job.id]) == []


def test_many_old_jobs_keep_no_recovery_waiting(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Red before: both shared one budget, oldest first."""
    monkeypatch.setattr(sweep, "MOST_FORGOTTEN", 2)
    platform.options["sweep_batch"] = 3
    for _ in range(6):
        platform.finish(platform.buy())
    platform.clock.latest_ledger += 1_000
    pass_time(platform.store.client, 8 * 86_400)
    late = platform.buy("before", payment=platform.payment("before"))
    pass_time(platform.store.client, 100)
    actions = platform.sweep.run().actions
    assert (actions["settle_again"], actions["forget"]) == (1, 2)
    assert platform.job(late).status is Status.PENDING
    assert [platform.sweep.run().actions["forget"] for _ in range(3)] == [2, 2, 0]
