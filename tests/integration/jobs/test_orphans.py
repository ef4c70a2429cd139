"""What the sweep and the reconciler do with records that are gone or cannot be read (§9, §10)."""

from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from provider.errors import RecordUnreadable
from provider.jobs.model.codec import UNREADABLE
from provider.jobs.model.job import Job, Lease
from provider.jobs.model.status import Status
from provider.jobs.recover.orphans import RECORD_MISSING
from provider.jobs.recover.sweep import LOOK_FAILED
from provider.jobs.store import keys
from tests.support.jobs import Platform
from tests.support.timetravel import pass_time

LISTS = (keys.index, keys.lane, keys.slots, keys.due)


def damage(platform: Platform, job: Job) -> None:
    """Spoil a record, as a flipped digit in Redis' file would."""
    platform.store.client.hset(keys.job(job.id), "terms", '["on-success"')


def leased(platform: Platform) -> Job:
    job = platform.buy()
    lease = platform.lanes.lease(platform.registry.get("after"), job.id, "w1", lease_seconds=30)
    assert isinstance(lease, Lease)
    return lease.job


def told(logs: list[Any], event: str) -> set[str]:
    return {line["job_id"] for line in logs if line["event"] == event and line["log_level"] == "error"}


def places(platform: Platform, job: Job) -> int:
    client: Any = platform.store.client
    return sum(client.zscore(of(job.service), job.id) is not None for of in LISTS)


def test_an_unreadable_record_does_not_keep_the_sweep_from_the_others(platform: Platform) -> None:
    """§9: it is told of with its id and looked at again later, and its record stays."""
    bad, good = platform.buy("before"), platform.buy("before")
    damage(platform, bad)
    pass_time(platform.store.client, 16)
    platform.wakeups.settled.clear()
    with capture_logs() as logs:
        assert platform.sweep.run().actions == {"settle_again": 1}
    assert (platform.wakeups.settled, told(logs, UNREADABLE)) == ([good.id], {bad.id})
    assert platform.store.client.exists(keys.job(bad.id))
    assert platform.store.due("before", platform.store.now_ms(), limit=9) == []
    with pytest.raises(RecordUnreadable):
        platform.store.get(bad.id)


def test_unreadable_records_do_not_fill_the_batch(platform: Platform) -> None:
    """Otherwise so many of them would stop the sweep."""
    platform.options["sweep_batch"] = 1
    bad, good = platform.buy("before"), platform.buy("before")
    damage(platform, bad)
    pass_time(platform.store.client, 16)
    assert platform.sweep.run().actions == {}
    assert platform.sweep.run().actions == {"settle_again": 1}
    assert platform.wakeups.settled[-1] == good.id


def test_an_unreadable_job_gives_its_slot_back_when_its_lease_is_over(platform: Platform) -> None:
    """Q1: two slots; the others of the lane go on."""
    job = leased(platform)
    damage(platform, job)
    platform.store.client.zadd(keys.due("after"), {job.id: 1})
    platform.sweep.run()
    assert platform.lanes.load("after") == (0, 1)
    pass_time(platform.store.client, 31)
    platform.sweep.run()
    assert platform.lanes.load("after") == (0, 0)
    assert platform.store.client.zscore(keys.index("after"), job.id)


def test_an_action_that_fails_does_not_keep_the_sweep_from_the_others(platform: Platform) -> None:
    """Whatever goes wrong with one job is told of, and tried again later."""
    bad, good = platform.buy("before"), platform.buy("before")
    pass_time(platform.store.client, 16)
    platform.wakeups.settle = lambda job_id: _fail_for(bad.id, job_id)  # type: ignore[method-assign]
    with capture_logs() as logs:
        assert platform.sweep.run().actions == {"fail": 1, "settle_again": 1}
    assert told(logs, LOOK_FAILED) == {bad.id}
    assert platform.store.get(good.id).status is Status.PENDING


def _fail_for(bad: str, job_id: str) -> None:
    if job_id == bad:
        raise RuntimeError


@pytest.mark.parametrize("kind", ["waiting", "leased", "pending"])
def test_a_job_without_a_record_leaves_all_lists(platform: Platform, kind: str) -> None:
    """Deleted by hand, or evicted: it would hold its place for ever."""
    made = {
        "waiting": platform.buy,
        "leased": lambda: leased(platform),
        "pending": lambda: platform.buy("before"),
    }
    job = made[kind]()
    other = platform.buy()
    platform.store.client.delete(keys.job(job.id))
    pass_time(platform.store.client, 31)
    platform.wakeups.handled.clear()
    with capture_logs() as logs:
        assert platform.sweep.run().actions == {"clear": 1}
    assert (places(platform, job), told(logs, RECORD_MISSING)) == (0, {job.id})
    assert platform.wakeups.handled == [other.id]


def test_a_slot_that_nobody_looks_after_is_freed(platform: Platform) -> None:
    """Its job stands in no other list."""
    job = leased(platform)
    platform.store.client.delete(keys.job(job.id), keys.due("after"))
    assert platform.sweep.run().actions == {}
    pass_time(platform.store.client, 31)
    assert platform.sweep.run().actions == {"clear": 1}
    assert platform.lanes.load("after") == (0, 0)


def test_a_lane_of_jobs_without_a_record_runs_dry_in_one_sweep(platform: Platform) -> None:
    """More of them than the lane has slots."""
    gone, good = [platform.buy() for _ in range(5)], platform.buy()
    platform.store.client.delete(*(keys.job(job.id) for job in gone))
    platform.wakeups.handled.clear()
    assert platform.sweep.run().actions == {"clear": 5}
    assert platform.wakeups.handled == [good.id]


def test_a_job_that_another_sweep_deleted_meanwhile_is_not_missing(platform: Platform) -> None:
    """J15: that was its time."""
    job = platform.finish(platform.buy())
    pass_time(platform.store.client, 8 * 86400)
    platform.clock.latest_ledger += 100
    read = platform.store.get_many
    platform.store.get_many = lambda ids: [] if platform.store.forget(job) else read(ids)  # type: ignore[method-assign]
    with capture_logs() as logs:
        assert platform.sweep.run().actions == {}
    assert told(logs, RECORD_MISSING) == set()


@pytest.mark.parametrize("spoiled", ["status", "version", "created_at_ms", "deadline_ms"])
def test_a_damaged_record_at_the_head_of_a_lane_holds_nobody_up(platform: Platform, spoiled: str) -> None:
    """Q1: those behind it run; it stays for its repair, in the index."""
    bad, good = platform.buy(), platform.buy()
    platform.store.client.hset(keys.job(bad.id), spoiled, "?")
    platform.runner.run_next("after")
    assert platform.store.get(good.id).output is not None
    assert platform.store.client.zscore(keys.index("after"), bad.id) is not None
    assert platform.store.client.exists(keys.job(bad.id))


@pytest.mark.parametrize("text", ["", "x", "after.x", "before." + "a" * 32, "after." + "a" * 32 + " b"])
@pytest.mark.parametrize("of", [keys.lane, keys.slots, keys.due, keys.reserved])
def test_what_is_no_id_of_a_job_keeps_the_sweep_from_nothing(
    platform: Platform, of: Callable[[str], str], text: str
) -> None:
    """§9: written by hand, or by a release that spells ids otherwise. Other services are swept, too."""
    job = platform.buy("before")
    platform.store.client.zadd(of("after"), {text: 1})
    platform.buy()
    pass_time(platform.store.client, 16)
    platform.wakeups.settled.clear()
    assert platform.sweep.run().woken == 1
    assert platform.wakeups.settled == [job.id]
    assert platform.store.client.zscore(of("after"), text) is None
