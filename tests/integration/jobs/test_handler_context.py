"""The context of a handler, over its pipe: it refuses, stores and shows what it promises (R3, R5)."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provider.errors import CheckpointRefused
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.logs import configure_logging
from provider.services import Context
from provider.services.checkpoints import CheckpointLimits
from provider.services.testing import LocalContext
from tests.support.handlers import misbehave, try_to
from tests.support.jobs import Platform, running_platform, service

LIMITS = {
    "checkpoint_name_bytes": 10,
    "checkpoint_cursor_bytes": 20,
    "checkpoint_units": 4,
    "checkpoint_total_bytes": 40,
}
DEEP: Any = []
for _ in range(80):
    DEEP = [DEEP]
ODD_CALLS = [
    ["progress", [1, 2, "half"]],
    ["progress", [-1]],
    ["progress", [1, "2"]],
    ["progress", [1, 2, 3]],
    ["progress", [2**60]],
    ["checkpoint", [""]],
    ["checkpoint", [7]],
    ["checkpoint", ["\udc80"]],
    ["checkpoint", ["x" * 11]],
    ["checkpoint", ["ä" * 5, 1]],
    ["checkpoint", ["ä" * 6]],
    ["checkpoint", ["a", "x" * 18]],
    ["checkpoint", ["a", "x" * 19]],
    ["checkpoint", ["a", DEEP]],
    ["checkpoint", ["a", ["\udc80"]]],
    ["checkpoint", ["b", [1, 2]]],
    ["checkpoint", ["c", "x" * 9]],  # One byte too many of all together.
    ["checkpoint", ["a"]],  # Completing gives room back.
    ["checkpoint", ["c", "x" * 8]],
    ["checkpoint", ["a", "x" * 18]],  # It is complete and stays so.
    ["checkpoint", ["e"]],  # A fifth unit.
    ["checkpoint", ["c"]],
]


def try_odd_calls(value: Any, context: Context) -> Any:
    """Make calls that no input could ask for."""
    return try_to({"calls": ODD_CALLS}, context)


@pytest.fixture
def platform(redis_url: str) -> Iterator[Platform]:
    """Sell what misbehaves, with little room for checkpoints."""
    with running_platform(redis_url, **LIMITS) as parts:
        parts.registry.add(service("odd", handler=misbehave, charge="upfront"))
        parts.registry.add(service("trying", handler=try_odd_calls, charge="upfront"))
        yield parts


def run(platform: Platform, do: str, name: str = "odd", **more: Any) -> Job:
    """Run a job of a handler, and read it afterwards."""
    job = platform.buy(name, {"do": do, **more})
    platform.settler.settle(job.id)
    platform.runner.run_next(name)
    return platform.job(job)


def output(job: Job) -> Any:
    return json.loads(job.output or "null")


def limits(platform: Platform) -> CheckpointLimits:
    return CheckpointLimits.of(platform.settings)


def test_a_handler_gets_a_copy_of_its_input_and_its_job(platform: Platform) -> None:
    """R3: id, attempt, deadline by this machine's clock, and nothing that another attempt would not get."""
    platform.registry.add(service("brief", handler=misbehave, charge="upfront", timeout_seconds=20))
    job = platform.buy("brief", {"do": "tell_context", "more": []})
    platform.settler.settle(job.id)
    began = time.time()
    platform.runner.run_next("brief")
    told = output(platform.job(job))
    assert (told["job_id"], told["attempt"], told["cancelled"]) == (job.id, 1, False)
    assert began + 19 < told["deadline"] < time.time() + 20
    assert told["input"]["more"] == ["of the handler"]
    assert json.loads(platform.job(job).input)["more"] == []


def test_what_a_handler_logs_carries_its_job(platform: Platform, capfd: pytest.CaptureFixture[str]) -> None:
    """R3: whoever reads the log finds the job."""
    configure_logging()
    job = run(platform, "tell_context", more=[])
    lines = "".join(capfd.readouterr()).splitlines()
    assert [job.id in line for line in lines if "a_line_of_the_handler" in line] == [True]


def test_the_local_context_answers_as_the_real_one(platform: Platform) -> None:
    """Issue: a handler's unit test sees the same errors, word for word, and the same units and cursors."""
    local = try_odd_calls({}, LocalContext(limits=limits(platform)))
    assert output(run(platform, "", "trying")) == local
    refused = [text.partition(":")[0] for text in local["raised"]]
    assert refused.count("InvalidProgress") == 4
    assert refused.count("CheckpointRefused") == 10
    assert (local["units"], local["cursors"]) == (["a", "c"], {"äääää": 1, "b": [1, 2]})


def test_the_store_refuses_what_the_context_does(platform: Platform) -> None:
    """R5: the script is the last to look, also at what workers elsewhere send; memory stays bounded."""
    job = platform.buy("odd")
    platform.settler.settle(job.id)
    platform.lanes.lease(platform.registry.get("odd"), job.id, "w", lease_seconds=30)
    stored = LocalContext(limits=limits(platform))
    for unit, *rest in (arguments for method, arguments in ODD_CALLS[8:] if method == "checkpoint"):
        if rest and (rest[0] is DEEP or rest[0] == ["\udc80"]):
            continue  # What is no JSON for everybody is refused before it is spelled.
        cursor = json.dumps(rest[0], separators=(",", ":")) if rest else ""
        assert refusal(lambda: stored.checkpoint(unit, *rest)) == refusal(  # noqa: B023
            lambda: platform.store.checkpoint(job.id, "w", unit, cursor)  # noqa: B023
        )
    units, cursors = platform.store.work(job.id)
    assert (set(units), cursors) == (set(stored.completed_units), dict(stored.cursors))
    kept = sum(len(name.encode()) for name in units | set(cursors)) + len("1[1,2]")
    assert platform.store.client.hget(keys.work(job.id), "bytes") == str(kept)


def refusal(act: Any) -> str:
    try:
        act()
    except CheckpointRefused as error:
        return str(error)
    return ""


def test_a_refused_checkpoint_fails_the_job_at_once(platform: Platform) -> None:
    """R6: it would be refused again, so it is deterministic, also where other errors are tried again."""
    from tests.support.handlers import HANDLERS

    limits = {"max_retries": 3, "other_errors_transient": True, "charge": "upfront"}
    platform.registry.add(service("hopeful", handler=HANDLERS["odd_cursor"], **limits))
    job = platform.buy("hopeful")
    platform.settler.settle(job.id)
    platform.runner.run_next("hopeful")
    assert (platform.job(job).status, platform.job(job).starts) == (Status.FAILED, 1)


def test_a_checkpoint_is_stored_when_it_returns(platform: Platform, tmp_path: Path) -> None:
    """R5: so that of fast units, too, a kill costs one at most: the handler waits for each."""
    notes = tmp_path / "notes"
    noted: list[list[str]] = []

    def look(step: str) -> None:
        if step == "checkpoint":
            time.sleep(0.1)
            noted.append(notes.read_text().split() if notes.exists() else [])

    platform.store.scripts.after = look
    run(platform, "note_each_unit", notes=str(notes))
    assert noted == [[], ["u0"], ["u0", "u1"]]


def test_a_checkpoint_that_nobody_answers_ends_with_the_word_to_stop(
    platform: Platform, tmp_path: Path
) -> None:
    """R1, R5: the lease is lost while the handler waits; it hears so and may clean up."""
    platform.registry.add(service("slow", handler=misbehave, charge="upfront"))
    job = platform.buy("slow", {"do": "note_each_unit", "units": 1, "notes": str(tmp_path / "notes")})
    platform.settler.settle(job.id)
    checkpoint = platform.store.checkpoint

    def lose(job_id: str, *given: Any) -> bool:
        platform.store.client.hset(keys.job(job_id), "owner", "another")
        return checkpoint(job_id, *given)

    platform.store.checkpoint = lose  # type: ignore[method-assign]
    platform.runner.run_next("slow")
    assert (tmp_path / "notes").read_text() == "u0 stopped\n"
    assert platform.store.work(job.id) == (frozenset(), {})


def test_threads_of_a_handler_may_checkpoint_at_once(redis_url: str) -> None:
    """R3: each waits for its own answer."""
    with running_platform(redis_url) as platform:
        platform.registry.add(service("odd", handler=misbehave, charge="upfront"))
        assert output(run(platform, "checkpoints_of_threads")) == {"units": 40}


def test_a_process_that_the_handler_forked_is_told_so(platform: Platform, tmp_path: Path) -> None:
    """R3: no answer would ever reach it, and it would wait for ever."""
    run(platform, "checkpoint_in_a_child", notes=str(tmp_path / "notes"))
    assert (tmp_path / "notes").read_text() == "NotThisProcess\n"


@pytest.mark.parametrize("ends", ["succeeded", "failed"])
def test_checkpoints_go_with_the_job(platform: Platform, ends: str) -> None:
    """R5: in the script that ends it, so that no crash leaves them behind."""
    kept: list[bool] = []
    platform.store.scripts.after = lambda step: kept.append(bool(work_keys(platform)))
    job = run(platform, "checkpoint_and_end", error=ends == "failed")
    assert job.status == ends
    assert kept[-1] is False
    assert any(kept)


def test_checkpoints_stay_while_a_job_waits_for_another_try(platform: Platform) -> None:
    """R5, R6: and go when it fails from its lane."""
    job = platform.buy("odd")
    platform.settler.settle(job.id)
    platform.lanes.lease(platform.registry.get("odd"), job.id, "w", lease_seconds=30)
    platform.store.checkpoint(job.id, "w", "a", "")
    platform.outcomes.interrupted(platform.job(job), None)
    assert work_keys(platform)
    platform.store.move(platform.job(job), Status.CANCELLED)
    assert not work_keys(platform)


def work_keys(platform: Platform) -> list[str]:
    return list(platform.store.client.scan_iter(match="*:work:*"))
