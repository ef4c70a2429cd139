"""Lists of jobs for operators (standard §14, issue 4)."""

from collections import Counter

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.store import keys
from provider.jobs.store.listing import BATCH, JobIndex, JobPage
from tests.support.jobs import Platform, service

EVERY = tuple(Status)


@pytest.fixture
def listing(platform: Platform) -> JobIndex:
    return JobIndex(platform.store)


def ids(page: JobPage) -> list[str]:
    return [job.id for job in page.jobs]


def claim(platform: Platform, name: str, *created_ms: int) -> list[str]:
    """Buy a job for each of these times of its claim."""
    return [backdate(platform, platform.buy(name), ms) for ms in created_ms]


def backdate(platform: Platform, job: Job, ms: int) -> str:
    platform.store.client.hset(keys.job(job.id), "created_at_ms", ms)
    platform.store.client.zadd(keys.index(job.service), {job.id: job.status.code * INDEX_STEP + ms})
    return job.id


def test_jobs_of_several_services_and_statuses_are_listed_newest_first(
    platform: Platform, listing: JobIndex
) -> None:
    """By their claim, wherever they stand now."""
    oldest, newest = claim(platform, "after", 1000, 3000)
    (between,) = claim(platform, "before", 2000)
    assert ids(listing.page(["after", "before"], EVERY, limit=9)) == [newest, between, oldest]
    assert ids(listing.page(["before"], EVERY, limit=9)) == [between]
    assert ids(listing.page(["after", "before"], [Status.PENDING], limit=9)) == [between]


def test_pages_give_every_job_once_whatever_moves_between_them(platform: Platform, listing: JobIndex) -> None:
    """The cursor is a claim and its time; three of these were claimed in one millisecond."""
    bought = claim(platform, "after", *range(1000, 1006), 2000, 2000, 2000)
    bought += claim(platform, "before", 2000, 2500)
    seen, after = [], ""
    while after is not None:
        page = listing.page(["after", "before"], EVERY, limit=2, after=after)
        assert len(page.jobs) <= 2
        seen += ids(page)
        after = page.after
        platform.canceller.cancel(bought[len(seen) % 6])
    assert Counter(seen) == Counter(bought)


def test_a_list_may_begin_at_a_time(platform: Platform, listing: JobIndex) -> None:
    """`--since`, to the millisecond."""
    _, second, third = claim(platform, "after", 1000, 2000, 3000)
    page = listing.page(["after"], EVERY, since_ms=2000, limit=1)
    rest = listing.page(["after"], EVERY, since_ms=2000, limit=1, after=page.after or "")
    assert (ids(page), ids(rest), rest.after) == ([third], [second], None)


def test_a_job_that_is_deleted_or_moves_on_meanwhile_is_left_out(
    platform: Platform, listing: JobIndex
) -> None:
    """An index entry is no promise; the page after it goes on from there."""
    gone, moved, kept = claim(platform, "after", 3000, 2000, 1000)
    platform.store.client.delete(keys.job(gone))
    platform.store.client.hset(keys.job(moved), "status", "running")
    page = listing.page(["after"], [Status.QUEUED], limit=2)
    assert ids(page) == []
    assert ids(listing.page(["after"], [Status.QUEUED], limit=2, after=page.after or "")) == [kept]


def test_a_page_costs_what_is_on_it(platform: Platform, listing: JobIndex) -> None:
    """Not what is stored: 5 records are read of 30, and nothing that may be large."""
    claim(platform, "after", *range(30))
    client = platform.store.client
    client.config_resetstat()
    page = listing.page(["after"], EVERY, limit=5)
    calls = {name: stat["calls"] for name, stat in client.info("commandstats").items()}
    assert (calls["cmdstat_hmget"], calls["cmdstat_zrange"]) == (5, len(Status))
    assert "cmdstat_hgetall" not in calls
    assert {(job.input, job.output, job.payment) for job in page.jobs} == {("", None, None)}


@pytest.mark.parametrize("after", ["nonsense", "12:nonsense", "x:after." + "0" * 32])
def test_a_cursor_of_nobody_is_refused(listing: JobIndex, after: str) -> None:
    with pytest.raises(ValueError, match=r"invalid literal|not a job id"):
        listing.page(["after"], EVERY, limit=5, after=after)


def test_all_jobs_of_a_status_are_named_in_batches(platform: Platform, listing: JobIndex) -> None:
    """More than one batch, without those that are claimed meanwhile."""
    platform.registry.add(service("big", max_queued=10_000, max_wait_seconds=1e9))
    index = keys.index("big")
    wanted = {f"big.{n:032x}": Status.QUEUED.code * INDEX_STEP + n // 7 for n in range(BATCH + 10)}
    platform.store.client.zadd(index, wanted)
    platform.store.client.zadd(index, {f"big.{n:032x}": 9 * INDEX_STEP for n in range(5000, 5010)})
    found = listing.ids("big", [Status.QUEUED])
    first = next(found)
    platform.store.client.zadd(index, {"big." + "f" * 32: Status.QUEUED.code * INDEX_STEP + 10**6})
    assert Counter([first, *found]) == Counter(wanted.keys())
