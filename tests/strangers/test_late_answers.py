"""A facilitator answers when its caller has given up (issue 9.7, standard §8)."""

import time
from pathlib import Path
from typing import Any

import pytest

from provider.broker.app import make_app
from provider.broker.dispatcher import CeleryDispatcher
from provider.jobs.model.status import Status
from provider.payments.facilitator import FacilitatorClient
from provider.services import ChargePolicy, Registry
from tests.support.facilitator import Answer, settled
from tests.support.jobs import Platform, running_platform, service
from tests.support.processes import wait_until
from tests.support.worker_process import running_worker

REFUSED = {"success": False, "transaction": "", "errorReason": "insufficient_funds"}


@pytest.fixture
def impatient(platform: Platform) -> Platform:
    """Give a platform that waits a fifth of a second for the facilitator."""
    given = {"settle_timeout_seconds": 0.2}
    platform.__dict__["client"] = FacilitatorClient(platform.facilitator.url, **given)
    return platform


def late(answer: Answer | None) -> Any:
    def settle(body: dict[str, Any]) -> Answer:
        time.sleep(1)
        return answer or settled(body)

    return settle


@pytest.mark.parametrize(
    ("name", "answer", "status"),
    [
        ("after", None, Status.SUCCEEDED),
        ("before", None, Status.QUEUED),
        ("after", (200, REFUSED), Status.FAILED),
        ("before", (200, REFUSED), Status.FAILED),
        ("after", (500, {}), Status.PAYMENT_UNCERTAIN),
    ],
)
def test_what_it_says_late_is_recorded(
    impatient: Platform, name: str, answer: Answer | None, status: Status
) -> None:
    """Red before: the connection was gone, and without an RPC the job stayed uncertain for ever."""
    impatient.facilitator.settle = late(answer)
    job = impatient.buy(name)
    impatient.runner.run_next(name)
    impatient.settler.settle(job.id)
    assert impatient.job(job).status is Status.PAYMENT_UNCERTAIN
    if status is Status.PAYMENT_UNCERTAIN:
        time.sleep(1.2)
    assert wait_until(lambda: impatient.job(job).status is status, 10)
    assert impatient.facilitator.calls("/settle") == 1


def test_what_the_chain_decided_meanwhile_stands(impatient: Platform) -> None:
    """J4: the first decision."""
    impatient.facilitator.settle = late((200, REFUSED))
    job = impatient.buy("before")
    impatient.settler.settle(job.id)
    assert impatient.settler.record_paid(job.id, "cd" * 32)
    time.sleep(1.2)
    found = impatient.job(job)
    assert (found.status, found.charged) == (Status.QUEUED, True)


@pytest.mark.slow
def test_a_worker_that_listens_stops_when_it_is_told_to(redis_url: str, tmp_path: Path) -> None:
    """SIGTERM: what it would have heard the chain decides."""
    with running_platform(redis_url) as platform:
        platform.registry = Registry()
        platform.registry.add(service("before", charge=ChargePolicy.UPFRONT))
        platform.facilitator.settle = lambda _: (time.sleep(60), (200, REFUSED))[1]
        log, patience = tmp_path / "log", {"SETTLE_TIMEOUT_SECONDS": "1"}
        with running_worker(platform, "settle", log, concurrency=2, **patience) as process:
            job = platform.buy("before")
            CeleryDispatcher(make_app(platform.settings, platform.registry)).settle(job.id)
            assert wait_until(lambda: platform.job(job).status is Status.PAYMENT_UNCERTAIN, 30)
            process.terminate()
            assert process.wait(15) == 0
