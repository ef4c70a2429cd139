"""A worker whose Redis or whose own life ends while a handler runs (C5, R1, R5)."""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from tests.support.handlers import misbehave
from tests.support.jobs import Platform, running_platform, service
from tests.support.processes import is_alive, wait_until
from tests.support.redis_server import RedisServer
from tests.support.timetravel import pass_time


@pytest.fixture
def platform(own_redis: RedisServer) -> Iterator[Platform]:
    """Give a platform whose Redis the test may kill."""
    with running_platform(own_redis.url, lease_seconds=3.0, max_attempts=3) as parts:
        parts.registry.add(service("patient", handler=misbehave, charge="upfront", max_attempts=3))
        parts.registry.add(service("paid-later", handler=misbehave))
        yield parts


def start(platform: Platform, name: str, do: str, tmp_path: Path, **more: Any) -> Job:
    job = platform.buy(name, {"do": do, "notes": str(tmp_path / "notes"), **more})
    platform.settler.settle(job.id)
    return job


def notes(tmp_path: Path) -> list[str]:
    path = tmp_path / "notes"
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize(("name", "status"), [("patient", Status.SUCCEEDED), ("paid-later", Status.RUNNING)])
def test_a_result_is_stored_though_redis_was_killed_while_the_handler_ran(
    platform: Platform, own_redis: RedisServer, tmp_path: Path, name: str, status: Status
) -> None:
    """C5: workers wait and come back by themselves; a paid result is not lost for that."""
    job = start(platform, name, "slow", tmp_path, seconds=0.8)
    runner = threading.Thread(target=platform.runner.run_next, args=(name,))
    runner.start()
    assert wait_until(lambda: notes(tmp_path))
    own_redis.kill()
    time.sleep(1.0)  # The handler ends while nobody can be told.
    own_redis.start()
    runner.join(10)
    done = platform.job(job)
    assert (done.status, done.output, done.starts) == (status, '{"done":true}', 1)


def test_a_checkpoint_waits_for_redis_and_its_handler_does_not_stall(
    platform: Platform, own_redis: RedisServer, tmp_path: Path
) -> None:
    """C5, R4, R5: 1.5 s without an answer are Redis' fault, whatever `stall_seconds` says."""
    stalling = service("stalling", handler=misbehave, charge="upfront", stall_seconds=0.8)
    platform.registry.add(stalling)
    job = start(platform, "stalling", "note_each_unit", tmp_path, pause=0.3)
    runner = threading.Thread(target=platform.runner.run_next, args=("stalling",))
    runner.start()
    assert wait_until(lambda: notes(tmp_path))
    own_redis.kill()
    time.sleep(1.5)
    own_redis.start()
    runner.join(10)
    done = platform.job(job)
    assert (done.status, done.starts, notes(tmp_path)) == (Status.SUCCEEDED, 1, ["u0", "u1", "u2"])


def test_nothing_is_decided_while_redis_is_away(platform: Platform, own_redis: RedisServer) -> None:
    """C5: callers hear so at once, the sweep does nothing, and both work again afterwards."""
    from provider.errors import StoreUnavailable

    own_redis.kill()
    for act in (platform.buy, platform.sweep.run, lambda: platform.runner.run_next("patient")):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            act()  # type: ignore[operator]
        assert time.monotonic() - began < 2
    own_redis.start()
    assert platform.buy().status is Status.QUEUED


@pytest.fixture
def worker(platform: Platform) -> Iterator[Callable[[str], int]]:
    """Run the next job of a lane in a process of its own; gives its pid."""
    context = multiprocessing.get_context("fork")
    started = []

    def begin(name: str) -> int:
        process = context.Process(target=_work, args=(platform, name))
        process.start()
        started.append(process)
        assert process.pid is not None
        return process.pid

    yield begin
    for process in started:
        process.kill()
        process.join()


def _work(platform: Platform, name: str) -> None:
    platform.store.client.connection_pool.reset()
    platform.runner.run_next(name)


def killed_at_work(platform: Platform, worker: Callable[[str], int], tmp_path: Path, attempt: int) -> None:
    """Start a worker, and kill it once its handler noted its checkpoint."""
    pid = worker("patient")
    noted = f"u{attempt}"
    assert wait_until(lambda: any(noted in platform.store.work(id_)[1] for id_ in running(platform)))
    os.kill(pid, signal.SIGKILL)


def running(platform: Platform) -> list[str]:
    from provider.jobs.store import keys

    return list(platform.store.client.zrange(keys.slots("patient"), 0, -1))  # type: ignore[arg-type]


def test_checkpoints_survive_workers_that_are_killed(
    platform: Platform, worker: Callable[[str], int], tmp_path: Path
) -> None:
    """R5: the next attempt sees the completed units and the open one's cursor; each death costs a start."""
    job = start(platform, "patient", "units", tmp_path)
    for attempt in (1, 2):
        killed_at_work(platform, worker, tmp_path, attempt)
        pass_time(platform.store.client, 4)
        assert platform.sweep.run().actions == {"requeue": 1}
    platform.runner.run_next("patient")
    assert notes(tmp_path) == ["1 [] {}", "2 ['u0'] {'u1': {'at': 0}}", "3 ['u0', 'u1'] {'u2': {'at': 1}}"]
    done = platform.job(job)
    assert json.loads(done.output or "") == {"units": ["u0", "u1", "u2"], "open": {"u3": {"at": 2}}}
    assert (done.starts, done.interruptions) == (3, 2)


def test_a_handler_dies_with_its_worker(
    platform: Platform, worker: Callable[[str], int], tmp_path: Path
) -> None:
    """R1: nobody renews its lease, so nobody may still be working when the next one starts."""
    start(platform, "patient", "hold_the_gil", tmp_path)
    pid = worker("patient")
    assert wait_until(lambda: children(pid))
    handler = children(pid)[0]
    os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(handler), 5)


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def test_a_stale_attempt_changes_no_checkpoint(platform: Platform, tmp_path: Path) -> None:
    """R5: guarded by the lease's owner."""
    job = start(platform, "patient", "units", tmp_path)
    platform.lanes.lease(platform.registry.get("patient"), job.id, "old", lease_seconds=30)
    assert platform.store.checkpoint(job.id, "old", "a", "1")
    platform.outcomes.interrupted(platform.job(job), None)
    assert not platform.store.checkpoint(job.id, "old", "a", "")
    platform.lanes.lease(platform.registry.get("patient"), job.id, "new", lease_seconds=30)
    assert not platform.store.checkpoint(job.id, "old", "b", "")
    assert platform.store.work(job.id) == (frozenset(), {"a": 1})


def test_a_completed_unit_drops_its_cursor_and_takes_no_other(platform: Platform, tmp_path: Path) -> None:
    """R5: per open unit, the cursor written last."""
    job = start(platform, "patient", "units", tmp_path)
    platform.lanes.lease(platform.registry.get("patient"), job.id, "w", lease_seconds=30)
    for cursor in ("1", "2", "", "3"):
        platform.store.checkpoint(job.id, "w", "a", cursor)
    assert platform.store.work(job.id) == (frozenset({"a"}), {})
