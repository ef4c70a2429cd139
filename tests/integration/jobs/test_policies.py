"""Both charge policies, step by step (standard §3)."""

import pytest

from provider.jobs.model.status import ErrorCode, Status
from provider.jobs.model.wire import dump_job
from provider.jobs.store import keys
from provider.web.http.answers import http_status
from tests.support.jobs import Platform, running_platform, service


def test_an_on_success_job_runs_first_and_is_charged_for_its_output(platform: Platform) -> None:
    """queued → running → output stored → settled → succeeded."""
    job = platform.buy("after", {"say": "hi"})
    assert job.status is Status.QUEUED
    platform.runner.run_next("after")
    assert platform.facilitator.calls("/settle") == 0
    platform.settler.settle(job.id)
    done = platform.job(job)
    assert (done.status, done.charged) == (Status.SUCCEEDED, True)
    assert dump_job(done)["output"] == {"echo": {"say": "hi"}, "attempt": 1}


def test_an_upfront_job_is_charged_first_and_runs_then(platform: Platform) -> None:
    """pending → settled → queued → running → succeeded."""
    job = platform.buy("before", {"say": "hi"})
    assert job.status is Status.PENDING
    assert platform.runner.run_next("before") is None
    platform.settler.settle(job.id)
    assert platform.job(job).status is Status.QUEUED
    platform.runner.run_next("before")
    assert platform.job(job).status is Status.SUCCEEDED


@pytest.mark.parametrize(
    ("do", "code"),
    [
        ("raise", ErrorCode.SERVICE_FAILED),
        ("deterministic", ErrorCode.SERVICE_FAILED),
        ("transient", ErrorCode.SERVICE_FAILED),
        ("text", ErrorCode.OUTPUT_INVALID),
    ],
)
def test_failed_work_is_never_charged_on_success(platform: Platform, do: str, code: ErrorCode) -> None:
    """S1: a failure or an invalid output settles nothing."""
    done = platform.finish(platform.buy("after", {"do": do}))
    assert (done.status, done.error, done.charged) == (Status.FAILED, code, False)
    assert platform.facilitator.calls("/settle") == 0


def test_failed_work_was_charged_upfront_and_says_so(platform: Platform) -> None:
    """§12: `charged` is always right."""
    done = platform.finish(platform.buy("before", {"do": "raise"}))
    assert dump_job(done)["error"]["charged"] is True
    assert len(dump_job(done)["payment"]["transaction"]) == 64


def test_an_output_is_withheld_until_its_payment_is_certain(platform: Platform) -> None:
    """J14: stored output is in no job object before the job succeeded."""
    job = platform.buy("after", {"say": "secret"})
    platform.runner.run_next("after")
    withheld = platform.job(job)
    assert withheld.output is not None
    assert "secret" not in str(dump_job(withheld))
    assert http_status(withheld) == 202


def test_an_output_that_was_lost_is_not_shown_as_null(platform: Platform) -> None:
    """J5: null is an output that a service may have given."""
    job = platform.finish(platform.buy("after"))
    platform.store.client.hdel(keys.job(job.id), "output")
    assert "output" not in dump_job(platform.job(job))


def test_what_a_handler_raised_is_not_told(platform: Platform) -> None:
    """E2: the buyer gets a fixed message."""
    done = platform.finish(platform.buy("after", {"do": "raise"}))
    assert "secret" not in str(dump_job(done))


def test_the_payload_leaves_the_record_when_the_job_is_final(platform: Platform) -> None:
    """Issue: what settling needs waits in the record and leaves it."""
    job = platform.buy("after")
    assert platform.job(job).payment
    assert platform.finish(job).payment is None


@pytest.mark.parametrize("do", ["loop", "swallow"])
def test_a_handler_that_does_not_stop_is_killed_at_its_budget(platform: Platform, do: str) -> None:
    """R2: a busy loop and a handler that swallows everything end in `timeout`, and free their slot."""
    platform.registry.add(service("short", timeout_seconds=1))
    job = platform.buy("short", {"do": do})
    platform.runner.run_next("short")
    assert platform.job(job).error is ErrorCode.TIMEOUT
    assert platform.lanes.load("short") == (0, 0)


def test_a_handler_process_that_dies_is_started_again_up_to_max_attempts(platform: Platform) -> None:
    """S3, I9: an interrupted start counts, and the last one fails the job."""
    job = platform.buy("before", {"do": "die"})
    platform.settler.settle(job.id)
    starts = 0
    while platform.runner.run_next("before"):
        starts += 1
    assert starts == 3
    assert platform.job(job).error is ErrorCode.SERVICE_FAILED


@pytest.mark.parametrize(("own", "starts"), [(None, 2), (4, 4)])
def test_a_service_that_names_no_limit_has_that_of_the_setting(
    redis_url: str, own: int | None, starts: int
) -> None:
    """S3: MAX_ATTEMPTS, and a service may set its own."""
    with running_platform(redis_url, max_attempts=2) as platform:
        platform.registry.add(service("dying", max_attempts=own))
        job = platform.buy("dying", {"do": "die"})
        while platform.runner.run_next("dying"):
            pass
        assert platform.job(job).starts == starts


def test_a_transient_failure_waits_in_its_lane_and_is_tried_again(platform: Platform) -> None:
    """R6: what is due to retry is started by the sweep."""
    platform.registry.add(service("shaky", max_retries=2))
    job = platform.buy("shaky", {"do": "transient"})
    platform.runner.run_next("shaky")
    waiting = platform.job(job)
    assert (waiting.status, waiting.retries) == (Status.QUEUED, 1)
    assert platform.runner.run_next("shaky") is None


def test_progress_is_stored_with_its_last_value(platform: Platform) -> None:
    """R4: the last value always."""
    done = platform.finish(platform.buy("after", {"do": "progress"}))
    assert done.progress == {"done": 100, "total": 100}
