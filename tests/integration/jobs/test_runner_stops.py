"""Handlers are stopped in time, whatever they do, and tell no more than they may (R1, R2, R4, R7)."""

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from tests.support.handlers import misbehave
from tests.support.jobs import Platform, running_platform, service
from tests.support.processes import is_alive, wait_until


@pytest.fixture
def platform(redis_url: str) -> Iterator[Platform]:
    """Sell what misbehaves, with a budget of a second and leases of 0.6 s."""
    with running_platform(redis_url, lease_seconds=0.6) as parts:
        parts.registry.add(service("odd", handler=misbehave, timeout_seconds=1, concurrency=1))
        parts.registry.add(service("patient", handler=misbehave, charge="upfront", concurrency=1))
        yield parts


@pytest.fixture
def notes(tmp_path: Path) -> Callable[[], list[str]]:
    """Read what handlers noted down."""
    return lambda: (tmp_path / "notes").read_text().splitlines() if (tmp_path / "notes").exists() else []


def start(platform: Platform, name: str, do: str, tmp_path: Path, **more: Any) -> Job:
    """Buy a job of a service, and have its payment settled if that comes first."""
    job = platform.buy(name, {"do": do, "notes": str(tmp_path / "notes"), **more})
    platform.settler.settle(job.id)
    return job


@pytest.fixture
def working(platform: Platform) -> Iterator[Callable[[str], None]]:
    """Run the next job of a lane in the background; fails when the runner did."""
    threads, errors = list[threading.Thread](), list[BaseException]()

    def run(name: str) -> None:
        try:
            platform.runner.run_next(name)
        except BaseException as error:
            errors.append(error)

    def begin(name: str) -> None:
        threads.append(threading.Thread(target=run, args=(name,)))
        threads[-1].start()

    yield begin
    for thread in threads:
        thread.join(20)
    assert not errors


@pytest.mark.parametrize("do", ["flood", "hold_the_gil", "wait_in_a_child"])
def test_a_handler_is_stopped_at_its_budget_whatever_it_does(
    platform: Platform, do: str, tmp_path: Path
) -> None:
    """R2: 1 s of budget, and the slot is free within 5 s."""
    job, began = start(platform, "odd", do, tmp_path), time.monotonic()
    platform.runner.run_next("odd")
    assert time.monotonic() - began < 1 + 5
    assert (platform.job(job).error, platform.lanes.load("odd")) == (ErrorCode.TIMEOUT, (0, 0))


def test_the_next_job_runs_after_one_was_killed(platform: Platform, tmp_path: Path) -> None:
    """R2: the worker survives its handler."""
    start(platform, "odd", "hold_the_gil", tmp_path)
    after = start(platform, "odd", "quick", tmp_path)
    platform.runner.run_next("odd")
    platform.runner.run_next("odd")
    assert platform.job(after).output == '{"done":true}'


def test_a_process_that_an_earlier_job_left_hanging_is_replaced(platform: Platform, tmp_path: Path) -> None:
    """R2: an order that nobody takes must not hold the worker; this one is more than a socket takes."""
    start(platform, "patient", "leave_a_stopped_process", tmp_path)
    after = start(platform, "patient", "quick", tmp_path, padding="x" * 900_000)
    platform.runner.run_next("patient")
    time.sleep(0.5)
    platform.runner.run_next("patient")
    assert platform.job(after).output == '{"done":true}'


def test_what_a_handler_started_is_stopped_with_it(
    platform: Platform, tmp_path: Path, notes: Callable[[], list[str]]
) -> None:
    """R2, I8: programs of stopped handlers would pile up beside those of the next jobs."""
    start(platform, "odd", "leave_a_child", tmp_path)
    platform.runner.run_next("odd")
    assert wait_until(lambda: not is_alive(int(notes()[0])), 3)


def test_a_handler_that_forks_answers_once_and_for_its_own_job(platform: Platform, tmp_path: Path) -> None:
    """J14: a second answer would be taken for that of the next job, whose buyer is somebody else."""
    forked = start(platform, "patient", "fork", tmp_path)
    after = [start(platform, "patient", "quick", tmp_path) for _ in range(2)]
    for _ in range(3):
        platform.runner.run_next("patient")
    outputs = [platform.job(job).output for job in (forked, *after)]
    assert outputs == ['{"by":"parent"}', '{"done":true}', '{"done":true}']


def test_a_handler_may_use_processes(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery's own children may have none ("daemonic processes"); a handler's process is not one of them."""
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    job = start(platform, "odd", "use_processes", tmp_path)
    platform.runner.run_next("odd")
    assert platform.job(job).output == '{"sum":3}'


def test_a_death_is_seen_though_a_child_holds_the_pipe(platform: Platform, tmp_path: Path) -> None:
    """R6: it is a death, seen at the next renewal, and not the end of the budget."""
    job = start(platform, "patient", "die_before_a_child", tmp_path)
    platform.runner.run_next("patient")
    assert (platform.job(job).status, platform.job(job).interruptions) == (Status.QUEUED, 1)


@pytest.mark.parametrize("do", ["leave", "interrupt"])
def test_what_a_handler_raises_is_its_own_error_exception_or_not(
    platform: Platform, do: str, tmp_path: Path
) -> None:
    """R6: `sys.exit()` is no death of a worker, so it is neither tried again nor kept from the log."""
    job = start(platform, "odd", do, tmp_path)
    platform.runner.run_next("odd")
    done = platform.job(job)
    assert (done.error, done.starts, done.interruptions) == (ErrorCode.SERVICE_FAILED, 1, 0)


@pytest.mark.parametrize("do", ["odd_cursor", "odd_progress"])
def test_what_cannot_be_stored_is_the_handlers_own_error(platform: Platform, do: str, tmp_path: Path) -> None:
    """I9: it fails once, and is not started for ever."""
    job = start(platform, "odd", do, tmp_path)
    platform.runner.run_next("odd")
    done = platform.job(job)
    assert (done.status, done.error, done.starts) == (Status.FAILED, ErrorCode.SERVICE_FAILED, 1)


def test_threads_of_a_handler_may_talk_at_once(platform: Platform, tmp_path: Path) -> None:
    """R3: a torn message would break the watch."""
    job = start(platform, "patient", "many_threads", tmp_path)
    platform.runner.run_next("patient")
    assert platform.job(job).status is Status.SUCCEEDED


def test_a_thread_left_behind_is_not_heard_in_the_next_job(platform: Platform, tmp_path: Path) -> None:
    """Its progress and checkpoints would count for somebody else's job."""
    start(platform, "patient", "leave_a_thread", tmp_path)
    after = start(platform, "patient", "slow", tmp_path)
    platform.runner.run_next("patient")
    platform.runner.run_next("patient")
    assert dict(platform.job(after).progress) == {}


def test_a_failed_job_keeps_its_last_progress(platform: Platform, tmp_path: Path) -> None:
    """R4: the last value always."""
    job = start(platform, "odd", "half_way", tmp_path)
    platform.runner.run_next("odd")
    assert platform.job(job).progress == {"done": 2, "total": 3}


def test_a_lease_is_renewed_while_the_handler_works(
    platform: Platform, tmp_path: Path, working: Callable[[str], None]
) -> None:
    """R1: 1.5 s of work under leases of 0.6 s; no sweep may take the job away."""
    job = start(platform, "patient", "slow", tmp_path, seconds=1.5)
    working("patient")
    assert wait_until(lambda: platform.job(job).status is Status.RUNNING)
    while platform.job(job).status is Status.RUNNING:
        assert "requeue" not in platform.sweep.run().actions
        time.sleep(0.05)
    done = platform.job(job)
    assert (done.status, done.starts, done.interruptions) == (Status.SUCCEEDED, 1, 0)


def test_a_lost_lease_stops_the_handler_and_drops_its_result(
    platform: Platform, tmp_path: Path, notes: Callable[[], list[str]], working: Callable[[str], None]
) -> None:
    """R1: somebody else has the job now; the record stays as that one made it."""
    job = start(platform, "patient", "wait_to_be_told", tmp_path)
    working("patient")
    assert wait_until(lambda: len(notes()) == 1)
    platform.outcomes.interrupted(platform.job(job), None)
    platform.lanes.lease(platform.registry.get("patient"), job.id, "other", lease_seconds=30)
    mine = platform.job(job)
    assert wait_until(lambda: notes()[1:] == ["told"], 3)
    assert platform.job(job) == mine


def test_a_lost_lease_that_nobody_took_waits_for_the_sweep(platform: Platform, tmp_path: Path) -> None:
    """R1: the worker does not spin on a record that is still in its name."""
    job = start(platform, "patient", "wait_to_be_told", tmp_path)
    platform.lanes.renew = lambda *_, **__: None  # type: ignore[method-assign,misc]
    platform.runner._supervisor._lanes = platform.lanes
    began = time.monotonic()
    platform.runner.run_next("patient")
    assert time.monotonic() - began < 5
    assert (platform.job(job).status, platform.job(job).owner is not None) == (Status.RUNNING, True)


def test_a_cancel_ends_the_handler(
    platform: Platform, tmp_path: Path, notes: Callable[[], list[str]], working: Callable[[str], None]
) -> None:
    """R7: told, then cancelled; nothing is settled."""
    job = platform.buy("odd", {"do": "wait_to_be_told", "notes": str(tmp_path / "notes")})
    working("odd")
    assert wait_until(lambda: len(notes()) == 1)
    platform.canceller.cancel(job.id)
    assert wait_until(lambda: platform.job(job).is_final, 3)
    assert (platform.job(job).status, notes()[1:]) == (Status.CANCELLED, ["told"])
    assert platform.facilitator.calls("/settle") == 0


@pytest.mark.parametrize("do", ["flood", "hold_the_gil"])
def test_a_handler_that_does_not_listen_is_stopped_long_before_its_lease_is_renewed(
    platform: Platform, do: str, tmp_path: Path
) -> None:
    """R7: its slot is free within 5 s; the next renewal is due after ten, the end of the budget after 30."""
    worker = Platform(platform.redis_url, platform.facilitator, seller=platform.seller)
    worker.registry.add(service("odd", handler=misbehave))
    job = start(platform, "odd", do, tmp_path)
    thread = threading.Thread(target=worker.runner.run_next, args=("odd",))
    thread.start()
    assert wait_until(lambda: platform.job(job).status is Status.RUNNING)
    platform.canceller.cancel(job.id)
    thread.join(5)
    assert (platform.job(job).status, platform.lanes.load("odd")) == (Status.CANCELLED, (0, 0))


def test_a_lease_that_somebody_else_has_is_seen_long_before_it_would_be_renewed(
    platform: Platform, tmp_path: Path, notes: Callable[[], list[str]]
) -> None:
    """R1: two handlers of one job run side by side no longer than that."""
    worker = Platform(platform.redis_url, platform.facilitator, seller=platform.seller)
    worker.registry.add(service("patient", handler=misbehave, charge="upfront"))
    job = start(platform, "patient", "wait_to_be_told", tmp_path)
    thread = threading.Thread(target=worker.runner.run_next, args=("patient",))
    thread.start()
    assert wait_until(lambda: len(notes()) == 1)
    platform.outcomes.interrupted(platform.job(job), None)
    thread.join(5)
    assert (notes()[1:], platform.job(job).status) == (["told"], Status.QUEUED)


def test_checkpoints_survive_a_planned_stop_which_costs_no_start(
    platform: Platform, tmp_path: Path, notes: Callable[[], list[str]]
) -> None:
    """C8, R5: the worker is told to stop twice; each attempt sees what the one before did."""
    job = start(platform, "patient", "units", tmp_path)
    for number in range(2):
        stop_when(platform, lambda n=number: f"u{n + 1}" in platform.store.work(job.id)[1])  # type: ignore[misc]
        with pytest.raises(SystemExit):
            platform.runner.run_next("patient")
        assert (platform.job(job).status, platform.job(job).starts) == (Status.QUEUED, 0)
    platform.runner.run_next("patient")
    assert notes() == ["1 [] {}", "1 ['u0'] {'u1': {'at': 0}}", "1 ['u0', 'u1'] {'u2': {'at': 1}}"]
    assert platform.job(job).status is Status.SUCCEEDED


def stop_when(platform: Platform, condition: Callable[[], bool]) -> None:
    """Raise SystemExit in the watch, as Celery does in a worker that has to stop, once a condition holds."""
    supervisor: Any = platform.runner._supervisor
    wait = type(supervisor)._next

    def wait_or_stop(inlet: Any, watch: Any) -> Any:
        if condition():
            del supervisor._next
            raise SystemExit
        watch.renew_at = min(watch.renew_at, time.monotonic() + 0.02)
        return wait(supervisor, inlet, watch)

    supervisor._next = wait_or_stop


def test_a_stopped_worker_leaves_no_handler_behind(
    platform: Platform, tmp_path: Path, notes: Callable[[], list[str]]
) -> None:
    """C8: the job is in the lane again, so nobody may still work on it."""
    start(platform, "patient", "wait_to_be_told", tmp_path)
    stop_when(platform, lambda: len(notes()) == 1)
    with pytest.raises(SystemExit):
        platform.runner.run_next("patient")
    assert not is_alive(int(notes()[0]))
    assert platform.lanes.load("patient") == (1, 0)
