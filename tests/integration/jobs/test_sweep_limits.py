"""The sweep beside others: what it costs, and that any number may run at once (§9)."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from provider.errors import StoreUnavailable
from provider.jobs.model.job import Job, Lease
from provider.jobs.model.status import Status
from provider.jobs.recover.sweep import Sweep
from provider.jobs.store import keys
from tests.support.jobs import Platform
from tests.support.racing import race
from tests.support.timetravel import pass_time

JOBS = 12


def new_sweep(platform: Platform) -> Sweep:
    given = (platform.store, platform.registry, platform.settler, platform.clock, platform.wakeups)
    return Sweep(*given, platform.settings)


def make_late(platform: Platform) -> None:
    """Store jobs of many kinds that are all due."""
    for number in range(JOBS):
        platform.buy("after")
        job = platform.buy("before")
        if number % 2:
            platform.store.begin_settlement(job, "gone", give_up_seconds=150)
    for worker in ("w1", "w2"):
        job_id = platform.lanes.next("after", 1)[0]
        platform.lanes.lease(platform.registry.get("after"), job_id, worker, lease_seconds=30)
    pass_time(platform.store.client, 151)


def test_three_sweeps_at_once_decide_each_job_once(platform: Platform) -> None:
    """§9: safe to run any number of times at once; each decision is one move."""
    for _ in range(5):
        platform.store.client.flushall()
        make_late(platform)
        platform.clock.latest_ledger = 1000
        assert not [
            answer for answer in race(3, lambda _: new_sweep(platform).run()) if isinstance(answer, Exception)
        ]
        jobs = everything(platform)
        assert {job.version for job in jobs if job.status is Status.PAYMENT_UNCERTAIN} == {3}
        assert {job.version for job in jobs if job.interruptions} == {3}


def test_three_sweeps_at_once_expire_what_is_late(platform: Platform) -> None:
    """§9: queued to failed is one move, and one of three sweeps makes it."""
    for _ in range(10):
        jobs = [platform.buy() for _ in range(JOBS)]
        pass_time(platform.store.client, 290)
        assert not [
            answer for answer in race(3, lambda _: new_sweep(platform).run()) if isinstance(answer, Exception)
        ]
        assert {(platform.job(job).status, platform.job(job).version) for job in jobs} == {(Status.FAILED, 2)}


def everything(platform: Platform) -> list[Job]:
    ids: list[Any] = []
    for name in ("after", "before"):
        ids += platform.store.client.zrange(keys.index(name), 0, -1)  # type: ignore[operator]
    return [platform.store.get(job_id) for job_id in ids]


def test_a_run_looks_at_so_many_jobs_and_the_next_takes_the_rest(platform: Platform) -> None:
    """§9: at most `sweep_batch` a group and run, longest due first."""
    platform.options["sweep_batch"] = 5
    jobs = [platform.buy("before") for _ in range(JOBS)]
    pass_time(platform.store.client, 16)
    for seen in (5, 10, 12):
        platform.sweep.run()
        assert set(platform.wakeups.settled[JOBS:]) == {job.id for job in jobs[:seen]}
        assert len(platform.wakeups.settled[JOBS:]) == seen


def test_a_job_for_which_nothing_is_to_be_done_does_not_block_the_batch(platform: Platform) -> None:
    """Its next look is put off."""
    platform.options["sweep_batch"] = 1
    odd, late = platform.buy("before"), platform.buy("before")
    platform.store.begin_settlement(odd, "slow", give_up_seconds=150)
    platform.store.client.zadd(keys.due("before"), {odd.id: 1})
    pass_time(platform.store.client, 16)
    assert platform.sweep.run().actions == {"wait": 1}
    assert platform.sweep.run().actions == {"settle_again": 1}
    assert platform.wakeups.settled[-1] == late.id


def test_the_more_wait_to_be_settled_the_less_often_each_is_asked_for(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C1: settlers that are behind are not put farther behind by the same messages again and again."""
    monkeypatch.setattr("provider.jobs.recover.sweep.MOST_ASKED", JOBS / 3)
    for _ in range(JOBS):
        platform.buy("before")
    for seconds, asked in ((16, JOBS), (16, 0), (16, 0), (16, JOBS)):
        platform.wakeups.settled.clear()
        pass_time(platform.store.client, seconds)
        platform.sweep.run()
        assert len(platform.wakeups.settled) == asked


def test_a_look_put_off_never_comes_sooner(platform: Platform) -> None:
    """Somebody may have set a later one since the job was read."""
    job = platform.buy("before")
    stale = platform.job(job)
    platform.store.begin_settlement(job, "me", give_up_seconds=150)
    planned = platform.store.client.zscore(keys.due("before"), job.id)
    platform.store.look_later(stale.service, [stale.id], 15)
    assert platform.store.client.zscore(keys.due("before"), job.id) == planned


def test_a_job_that_finishes_while_the_sweep_looks_is_kept(platform: Platform) -> None:
    """J15: it was found due as one whose worker died, and read when it had finished."""
    job = platform.buy("before")
    platform.settler.settle(job.id)
    lease = platform.lanes.lease(platform.registry.get("before"), job.id, "w1", lease_seconds=30)
    assert isinstance(lease, Lease)
    pass_time(platform.store.client, 31)
    platform.clock.latest_ledger += 100
    meanwhile(platform, lambda: platform.outcomes.output(platform.job(job), "{}", {}))
    platform.sweep.run()
    assert platform.job(job).status is Status.SUCCEEDED


def meanwhile(platform: Platform, act: Callable[[], Any]) -> None:
    """Act between the look for due jobs and the reading of them."""
    read = platform.store.get_many

    def late_read(job_ids: list[str]) -> list[Job]:
        platform.store.get_many = read  # type: ignore[method-assign]
        act()
        return read(job_ids)

    platform.store.get_many = late_read  # type: ignore[method-assign]


@pytest.mark.parametrize("kind", ["waiting", "finished"])
def test_the_cost_follows_what_is_due(platform: Platform, kind: str) -> None:
    """§9: as many commands over one stored job as over many."""
    counts = []
    platform.sweep.run()  # Which tells its figures, as one that finds nothing does once a minute.
    for stored in (1, 60):
        for _ in range(stored):
            store_one(platform, kind)
        platform.store.client.config_resetstat()
        platform.sweep.run()
        counts.append(commands(platform))
    assert counts[0] == counts[1]


def store_one(platform: Platform, kind: str) -> None:
    """Store an upfront job that waits for its settlement, or one that is over."""
    job = platform.buy("before")
    if kind == "finished":
        platform.facilitator.settle = lambda _: (
            200,
            {"success": False, "transaction": "", "errorReason": "insufficient_funds"},
        )
        platform.settler.settle(job.id)


def commands(platform: Platform) -> int:
    stats: dict[str, Any] = platform.store.client.info("commandstats")  # type: ignore[assignment]
    return sum(
        of["calls"] for name, of in stats.items() if name not in ("cmdstat_info", "cmdstat_config|resetstat")
    )


def test_redis_going_away_ends_the_sweep_at_once_and_the_next_one_does_the_rest(platform: Platform) -> None:
    """C5: some jobs are looked at together; each runs into a time-out, so those not begun are dropped."""
    jobs = [platform.buy("before") for _ in range(40)]
    pass_time(platform.store.client, 700)
    begun: list[str] = []

    def go_away(step: str) -> None:
        begun.append(step)
        time.sleep(0.05)
        raise StoreUnavailable

    platform.store.scripts.after = go_away
    with pytest.raises(StoreUnavailable):
        platform.sweep.run()
    assert len(begun) < len(jobs)
    platform.store.scripts.after = lambda step: None
    platform.sweep.run()
    assert {platform.job(job).status for job in jobs} == {Status.FAILED}
    assert platform.sweep.run().actions == {}
