"""The move script: a compare-and-set on version and owner, and what lies where afterwards (J4)."""

import math

import pytest

from provider.jobs.model.job import Draft, Job, Lease
from provider.jobs.model.job_id import place_for
from provider.jobs.model.status import INDEX_STEP, Status
from provider.jobs.store import keys
from tests.support.jobs import Platform


@pytest.fixture
def leased(platform: Platform) -> Job:
    """Give a running job, held by the worker "w1"."""
    job = platform.buy()
    lease = platform.lanes.lease(platform.registry.get("after"), job.id, "w1", lease_seconds=30)
    assert isinstance(lease, Lease)
    return lease.job


def test_a_stale_version_moves_nothing(platform: Platform, leased: Job) -> None:
    """J4: a worker that was given up on must not finish a job that another runs now."""
    platform.lanes.renew(leased.id, "w1", lease_seconds=30)
    before = platform.job(leased)
    assert platform.store.move(leased, Status.FAILED, owner="w1") is None
    assert platform.job(leased) == before


def test_a_worker_without_the_lease_moves_nothing(platform: Platform, leased: Job) -> None:
    """J4: guarded by the lease owner, also at the right version."""
    assert platform.store.move(leased, Status.FAILED, owner="w2") is None
    assert platform.job(leased) == leased


def test_a_move_that_the_table_lacks_is_a_bug(platform: Platform, leased: Job) -> None:
    """Style 3: ValueError, and nothing is written."""
    with pytest.raises(ValueError, match="no move from running to pending"):
        platform.store.move(leased, Status.PENDING)
    assert platform.job(leased) == leased


def test_no_move_succeeds_without_an_output(platform: Platform, leased: Job) -> None:
    """Issue: no path reports success without an output."""
    with pytest.raises(ValueError, match="no output"):
        platform.store.move(leased, Status.SUCCEEDED, {"charged": "1"}, owner="w1")
    assert platform.job(leased) == leased


def test_each_move_raises_the_version(platform: Platform, leased: Job) -> None:
    """The next compare is against the move before."""
    assert platform.store.move(leased, Status.RUNNING, owner="w1") == leased.version + 1
    assert platform.job(leased).version == leased.version + 1


def test_a_job_in_the_lane_keeps_its_place_when_it_comes_back(platform: Platform, leased: Job) -> None:
    """Q1: FIFO by claim, also after a retry."""
    later = platform.buy()
    platform.store.move(leased, Status.QUEUED, owner="w1", enter="lane", look="deadline")
    assert platform.lanes.next("after", 2) == [leased.id, later.id]
    assert platform.lanes.load("after") == (2, 0)


def test_a_final_job_lies_in_no_list_but_index_and_what_is_kept(platform: Platform, leased: Job) -> None:
    """docs/states.md: where a job lies."""
    platform.store.move(leased, Status.FAILED, owner="w1")
    client = platform.store.client
    lists = [keys.lane("after"), keys.slots("after"), keys.reserved("after"), keys.due("after")]
    assert [client.zcard(key) for key in [*lists, keys.kept("after")]] == [0, 0, 0, 0, 0]
    kept_since_ms = client.zscore(keys.kept("after", charged=False), leased.id) - platform.store.now_ms()
    assert -10_000 < kept_since_ms <= 0  # J15: it was not charged.
    code = Status.FAILED.code * INDEX_STEP
    assert client.zscore(keys.index("after"), leased.id) == code + leased.created_at_ms


def test_a_finished_record_keeps_nothing_that_only_work_needs(platform: Platform, leased: Job) -> None:
    """Issue: what settling needs leaves the record once the job is final."""
    platform.store.move(leased, Status.FAILED, owner="w1")
    left = set(platform.store.client.hkeys(keys.job(leased.id)))
    assert not left & {"payment", "owner", "settler", "lease_until_ms", "work_until_ms", "deadline_ms"}


def test_every_change_is_announced(platform: Platform, leased: Job) -> None:
    """Waiting requests need not poll."""
    with platform.store.client.pubsub() as channel:
        channel.psubscribe(keys.EVENTS)
        channel.get_message(timeout=1)
        platform.store.move(leased, Status.FAILED, owner="w1")
        message = channel.get_message(timeout=1)
    assert message is not None
    assert (keys.job_id_of(message["channel"]), message["data"]) == (leased.id, "failed")


def test_a_job_is_written_once(platform: Platform) -> None:
    """J2: whoever comes second gets the first one's record, and takes no second place."""
    job = platform.buy()
    place = place_for(job.id, job.terms.claim)
    platform.lanes.reserve(platform.registry.get("after"), place, seconds=9, most_wait_seconds=99)
    draft = Draft(Status.PENDING, job.terms, '{"other":1}', "[]", math.inf, 9, 9)
    written = platform.store.create(job.id, draft)
    assert written is not None
    assert written.job == platform.job(job) == job


def test_a_draft_without_an_end_has_neither_a_deadline_nor_a_look(platform: Platform) -> None:
    """What no payment waits for is queued for as long as it takes; the sweep has nothing to do with it."""
    job = platform.buy()
    job_id = "after." + "1" * 32
    place = place_for(job_id, job.terms.claim)
    platform.lanes.reserve(platform.registry.get("after"), place, seconds=9, most_wait_seconds=99)
    draft = Draft(Status.QUEUED, job.terms, "{}", "[]", math.inf, 9, math.inf)
    written = platform.store.create(job_id, draft)
    assert written is not None
    assert written.job.deadline_ms is None
    assert platform.store.client.zscore(keys.due("after"), job_id) is None
    assert platform.lanes.next("after", 2) == [job.id, job_id]


def test_a_store_that_lost_its_list_of_services_has_it_again_with_the_next_job(platform: Platform) -> None:
    """Q7: each job lists its service. Red before: once a process, so a restored store lost it."""
    platform.buy()
    platform.store.client.delete(keys.SERVICES)
    platform.buy()
    assert platform.store.service_names() == ["after"]
