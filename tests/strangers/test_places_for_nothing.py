"""9.8: calls that accounts without money have signed, and a slow `/verify`, take no place in a lane."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from provider.errors import LaneFull, PaymentRejected
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store.stats import read_stats
from tests.support.jobs import Platform, service
from tests.support.processes import wait_until
from tests.support.racing import race

STRANGERS = 6


def is_honest(body: dict[str, Any]) -> bool:
    identifier = body["paymentPayload"].get("extensions", {}).get("payment-identifier", {})
    return bool(identifier.get("info", {}).get("id", "").startswith("honest"))


@pytest.fixture
def crowded(platform: Platform) -> Iterator[Platform]:
    """Have six strangers wait for the facilitator's verdict on payments of accounts that it does not know."""
    platform.registry.add(service("short", max_queued=6, concurrency=1, expected_seconds=10))
    answered = threading.Event()

    def verify(body: dict[str, Any]) -> tuple[int, Any]:
        if is_honest(body):
            return 200, {"isValid": True}
        answered.wait(10)
        return 200, {"isValid": False, "invalidReason": "insufficient_funds"}

    platform.facilitator.verify = verify
    with ThreadPoolExecutor(STRANGERS) as pool:
        calls = [pool.submit(platform.buy, "short") for _ in range(STRANGERS)]
        assert wait_until(lambda: platform.facilitator.calls("/verify") == STRANGERS)
        yield platform
        answered.set()
        assert all(isinstance(call.exception(), PaymentRejected) for call in calls)


def test_honest_calls_are_served_while_strangers_are_verified(crowded: Platform) -> None:
    """Red before: the six held the six places, and every honest call was 503."""
    lane = crowded.registry.get("short")
    for _ in range(20):
        crowded.desk.admits(lane)
    job = crowded.buy("short", payment=crowded.payment("short", identifier="honest-0123456789"))
    assert job.status is Status.QUEUED


def test_what_is_not_verified_counts_in_no_wait(crowded: Platform) -> None:
    """Red before: each payment in the facilitator's hands added ten seconds to the wait that is shown."""
    lane = read_stats(crowded.store, [crowded.registry.get("short")])["short"]
    assert (lane.depth, lane.wait_seconds) == (0, 0)


def test_calls_that_were_verified_in_vain_find_the_lane_full_and_leave_nothing(platform: Platform) -> None:
    """The lane is asked again after the verdict: of three calls for one place one gets it."""
    platform.registry.add(service("short", max_queued=1))
    line = threading.Barrier(3)
    platform.facilitator.verify = lambda _: (200, {"isValid": line.wait(10) is not None})
    answers = race(3, lambda _: platform.buy("short"))
    assert Counter(type(answer) for answer in answers) == {Job: 1, LaneFull: 2}
    assert platform.lanes.load("short") == (1, 0)
    assert platform.lanes.over("short", 2**53, limit=9) == {}
