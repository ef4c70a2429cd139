"""Leases: whose turn it is, how many at once, and for how long (Q1, R1, I8)."""

import threading
import time

import pytest

from provider.jobs.model.job import Job, Lease
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.services import Service
from tests.support.jobs import Platform
from tests.support.racing import race, race_rounds
from tests.support.timetravel import pass_time


@pytest.fixture
def after(platform: Platform) -> Service:
    return platform.registry.get("after")


class Crowd:
    """Counts how many were inside at once."""

    def __init__(self) -> None:
        self.most = self._inside = 0
        self._lock = threading.Lock()

    def visit(self, seconds: float) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        time.sleep(seconds)
        with self._lock:
            self._inside -= 1


def lease(platform: Platform, job: Job, owner: str = "w1") -> Lease | str:
    return platform.lanes.lease(platform.registry.get(job.service), job.id, owner, lease_seconds=30)


def test_the_lane_serves_by_claim(platform: Platform) -> None:
    """Q1: FIFO."""
    jobs = [platform.buy().id for _ in range(5)]
    served = [platform.runner.run_next("after") for _ in jobs]
    assert served == jobs


def test_paid_jobs_are_served_by_payment(platform: Platform) -> None:
    """Q1: upfront, the place is taken when the money is there."""
    first, second = platform.buy("before"), platform.buy("before")
    platform.settler.settle(second.id)
    platform.settler.settle(first.id)
    assert platform.lanes.next("before", 2) == [second.id, first.id]


def test_a_leased_job_runs_with_its_owner(platform: Platform) -> None:
    """R1: owner and expiry in the record."""
    got = lease(platform, platform.buy())
    assert isinstance(got, Lease)
    assert (got.job.status, got.job.owner, got.job.starts) == (Status.RUNNING, "w1", 1)
    assert 29.0 < (got.job.lease_until_ms or 0) / 1000 - platform.store.now_ms() / 1000 <= 30.0


def test_the_same_worker_asking_again_gets_the_same_lease(platform: Platform) -> None:
    """The client repeats a script whose reply was lost: that is one start."""
    job = platform.buy()
    first, again = lease(platform, job), lease(platform, job)
    assert isinstance(first, Lease)
    assert isinstance(again, Lease)
    assert first.job == again.job


def test_another_worker_finds_the_job_gone(platform: Platform) -> None:
    """Q6: a wake-up is a hint."""
    job = platform.buy()
    lease(platform, job)
    assert lease(platform, job, "w2") == "gone"


def test_a_full_lane_leases_nothing(platform: Platform) -> None:
    """Q1: at most `concurrency`, which is 2 here."""
    jobs = [platform.buy() for _ in range(3)]
    assert [type(lease(platform, job, f"w{n}")) for n, job in enumerate(jobs)] == [Lease, Lease, str]
    assert lease(platform, jobs[2], "w3") == "full"


def test_a_job_past_its_deadline_is_not_started(platform: Platform) -> None:
    """S2: it could not be charged any more; the full lane does not hide that."""
    job = platform.buy()
    pass_time(platform.store.client, 295)
    assert lease(platform, job) == "late"


def test_work_ends_at_the_deadline_when_that_is_sooner(platform: Platform) -> None:
    """S2: budget = min(deadline - now, timeout_seconds); here 285 s after the claim."""
    job = platform.buy()
    pass_time(platform.store.client, 280)
    got = lease(platform, job)
    assert isinstance(got, Lease)
    assert 4 < got.budget_seconds <= 5


def test_a_lost_lease_is_not_renewed(platform: Platform) -> None:
    """R1: the worker learns it at its next renewal, and the record stays as it is."""
    job = platform.buy()
    lease(platform, job)
    platform.outcomes.interrupted(platform.job(job), None)
    lease(platform, job, "w2")
    before = platform.job(job)
    assert platform.lanes.renew(job.id, "w1", lease_seconds=30, progress={"done": 1}) is None
    assert platform.job(job) == before


def test_a_renewal_tells_of_a_cancel(platform: Platform) -> None:
    """R7: the handler is told at the next renewal."""
    job = platform.buy()
    lease(platform, job)
    assert platform.lanes.renew(job.id, "w1", lease_seconds=30) == (3, False)
    platform.store.client.hset(keys.job(job.id), "cancel", 1)
    assert platform.lanes.renew(job.id, "w1", lease_seconds=30) == (4, True)


def test_racing_workers_never_exceed_the_concurrency(platform: Platform, after: Service) -> None:
    """I8: 16 workers lease, work and finish; each counts who works beside it."""
    jobs = [platform.buy() for _ in range(40)]
    crowd = Crowd()

    def work(worker: int) -> None:
        for _ in range(500):
            for job_id in platform.lanes.next("after", 3):
                got = platform.lanes.lease(after, job_id, f"w{worker}", lease_seconds=30)
                if isinstance(got, Lease):
                    crowd.visit(0.002)
                    platform.store.move(got.job, Status.FAILED, owner=f"w{worker}")

    assert race(16, work) == [None] * 16
    assert crowd.most == 2
    assert {platform.job(job).starts for job in jobs} == {1}


def test_one_job_is_leased_to_one_of_many(platform: Platform) -> None:
    """J4: queued to running happens once, in 100 rounds."""
    platform.registry.add(_wide())
    template = platform.buy("wide")
    leases: dict[str, int] = {}

    def take(job: Job, worker: int) -> None:
        if isinstance(lease(platform, job, f"w{worker}"), Lease):
            leases[job.id] = leases.get(job.id, 0) + 1

    race_rounds(16, 100, lambda: _another(platform, template), take)
    assert list(leases.values()) == [1] * 100


def _wide() -> Service:
    from tests.support.jobs import service

    return service("wide", concurrency=10_000)


def _another(platform: Platform, template: Job) -> Job:
    """Copy a queued job under a new id, into the lane."""
    client = platform.store.client
    job_id = f"wide.{client.incr('test:copies'):032x}"
    client.copy(keys.job(template.id), keys.job(job_id))
    client.zadd(keys.lane("wide"), {job_id: template.place or 0})
    return platform.store.get(job_id)
