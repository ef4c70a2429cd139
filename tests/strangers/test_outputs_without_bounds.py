"""9.13: outputs are as large as their service says, and no refused write keeps a worker for ever."""

import threading
from typing import Any

import pytest
from redis.exceptions import OutOfMemoryError, ReadOnlyError, ResponseError
from structlog.testing import capture_logs

from provider.errors import ConfigurationError, StoreRefused, StoreUnavailable
from provider.jobs.model.job import Job
from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.run.runner import NOT_STORED
from provider.jobs.run.transitions import DROPPED
from provider.jobs.store import keys
from provider.jobs.store.client import reaching_redis
from provider.services import Registry
from tests.support.jobs import Platform, service
from tests.support.processes import wait_until
from tests.support.timetravel import pass_time


def grow(value: dict[str, Any], context: Any) -> dict[str, Any]:
    """Return a text of the length that the input names; the JSON around it has 11 bytes."""
    return {"text": "x" * (value["bytes"] - 11)}


@pytest.fixture
def platform(platform: Platform) -> Platform:
    """Sell outputs of any length."""
    for name, charge in (("grow", "on-success"), ("grow-paid", "upfront")):
        platform.registry.add(service(name, handler=grow, charge=charge))
    platform.registry.add(service("grow-more", handler=grow, max_output_bytes=3_000_000))
    return platform


def made(platform: Platform, name: str, size: int) -> Job:
    return platform.finish(platform.buy(name, {"bytes": size}))


@pytest.mark.parametrize(("name", "most"), [("grow", 1_048_576), ("grow-more", 3_000_000)])
def test_an_output_is_as_large_as_its_service_allows(platform: Platform, name: str, most: int) -> None:
    """Red before: 100 MB were stored for 0.01 USDC."""
    assert made(platform, name, most).status is Status.SUCCEEDED
    large = made(platform, name, most + 1)
    assert (large.status, large.error, large.charged) == (Status.FAILED, ErrorCode.OUTPUT_INVALID, False)
    used: Any = platform.store.client.memory_usage(keys.job(large.id), samples=0)
    assert used < 2048


@pytest.mark.parametrize("most", [0, 64 * 1024 * 1024 + 1])
def test_a_service_allows_sixty_four_mebibytes_at_most(most: int) -> None:
    """A declaration that says otherwise stops the start."""
    offered = Registry()
    offered.add(service("greedy", max_output_bytes=most))
    with pytest.raises(
        ConfigurationError, match="max_output_bytes: must be a whole number, 1 or more, at most"
    ):
        offered.check()


@pytest.mark.parametrize("name", ["grow", "grow-paid"])
def test_what_redis_refuses_for_good_ends_the_job_with_a_log_line(platform: Platform, name: str) -> None:
    """Red before: the worker tried it again for ever, without a word, while its lane starved."""
    job = platform.buy(name, {"bytes": 100_000})
    platform.settler.settle(job.id)
    refuse_large_moves(platform)
    with capture_logs() as logs:
        assert run_lane(platform, name) is None
    done = platform.job(job)
    assert (done.status, done.error, done.charged) == (
        Status.FAILED,
        ErrorCode.OUTPUT_INVALID,
        name == "grow-paid",
    )
    assert [line["log_level"] for line in logs if line["event"] == NOT_STORED] == ["error"]


def refuse_large_moves(platform: Platform) -> None:
    """Have Redis answer as one whose bulk limit is lower than an output: the script fails by itself."""
    run = platform.store.scripts._scripts["move"]

    def move(keys: list[str], args: list[Any]) -> Any:
        if any(len(str(arg)) > 50_000 for arg in args):
            raise ResponseError("string exceeds maximum allowed size (proto-max-bulk-len)")
        return run(keys=keys, args=args)

    platform.store.scripts._scripts["move"] = move  # type: ignore[assignment]


def run_lane(platform: Platform, name: str) -> BaseException | None:
    """Run the lane in a thread that may hang, for five seconds at most."""
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            platform.runner.run_next(name)
            ended.append(None)
        except BaseException as error:
            ended.append(error)

    threading.Thread(target=run, daemon=True).start()
    assert wait_until(lambda: ended, 5)
    return ended[0]


def test_a_worker_whose_writes_fail_sees_that_its_lease_is_lost(platform: Platform) -> None:
    """Red before: after each failed write it tried the next one, and never read its record again."""
    job = platform.buy("grow", {"bytes": 100})

    def give_the_job_away(name: str) -> None:
        if name == "lease":
            platform.store.scripts._scripts["move"] = fails  # type: ignore[assignment]

    run, tries = platform.store.scripts._scripts["move"], []

    def fails(keys: list[str], args: list[Any]) -> Any:
        tries.append(args)
        if len(tries) == 2:  # The sweep of another process, which reaches Redis.
            platform.store.scripts._scripts["move"] = run
            pass_time(platform.store.client, 60)
            platform.sweep.run()
            platform.store.scripts._scripts["move"] = fails  # type: ignore[assignment]
        raise OutOfMemoryError("command not allowed")

    platform.store.scripts.after = give_the_job_away
    with capture_logs() as logs:
        assert run_lane(platform, "grow") is None
    assert len(tries) == 2
    assert platform.job(job).status is Status.QUEUED
    assert DROPPED in [line["event"] for line in logs]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"), StoreRefused),
        (ResponseError("Command # 1 (HSET x) of pipeline caused error: WRONGTYPE x"), StoreRefused),
        (ResponseError("BUSY Redis is busy running a script."), StoreUnavailable),
        (ResponseError("Command # 1 (HSET x) of pipeline caused error: MISCONF Errors"), StoreUnavailable),
        (ResponseError("NOREPLICAS Not enough good replicas to write."), StoreUnavailable),
        (OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), StoreUnavailable),
        (ReadOnlyError("You can't write against a read only replica."), StoreUnavailable),
    ],
)
def test_a_refusal_for_good_is_no_outage(error: Exception, raised: type[Exception]) -> None:
    """Red before: whatever Redis said was "the job store does not answer", 503 and another try."""
    with pytest.raises(raised), reaching_redis():
        raise error


def test_a_refusal_is_an_error_of_ours_to_a_client(platform: Platform) -> None:
    """It is logged with its traceback and answered with 500; Redis' text is for the log."""
    job = platform.buy()
    platform.store.client.delete(keys.job(job.id))
    platform.store.client.set(keys.job(job.id), "not a hash")
    with pytest.raises(StoreRefused, match="WRONGTYPE") as refused:
        platform.store.get(job.id)
    assert refused.value.status == 500
