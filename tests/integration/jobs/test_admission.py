"""Who may enter a lane (Q2, Q3)."""

import pytest

from provider.errors import LaneFull, PaymentRejected
from provider.jobs.store import keys
from provider.jobs.store.stats import read_stats
from provider.services import Service
from tests.support.jobs import Platform, service
from tests.support.racing import race
from tests.support.timetravel import pass_time


@pytest.fixture
def narrow(platform: Platform) -> Service:
    """Sell a service with three places and 10 s of work each."""
    narrow = service("narrow", max_queued=3, concurrency=1, expected_seconds=10, max_wait_seconds=1000)
    platform.registry.add(narrow)
    return narrow


def reserve(platform: Platform, lane: Service, number: int, *, most_wait: float = 1000) -> None:
    job_id = f"{lane.name}.{number:032x}"
    platform.lanes.reserve(lane, job_id, seconds=30, most_wait_seconds=most_wait)


def test_reserved_pending_and_queued_jobs_take_places(platform: Platform, narrow: Service) -> None:
    """Q2: places taken < max_queued."""
    platform.buy("narrow")
    reserve(platform, narrow, 1)
    reserve(platform, narrow, 2)
    with pytest.raises(LaneFull):
        reserve(platform, narrow, 3)


def test_a_running_job_takes_no_place(platform: Platform, narrow: Service) -> None:
    """Q2: pending + queued + reserved."""
    jobs = [platform.buy("narrow") for _ in range(3)]
    platform.lanes.lease(narrow, jobs[0].id, "w1", lease_seconds=30)
    reserve(platform, narrow, 1)


def test_a_place_that_a_crash_left_reserved_frees_itself(platform: Platform, narrow: Service) -> None:
    """Q3: after `reservation_seconds`."""
    platform.store._announce("narrow")
    for number in range(3):
        reserve(platform, narrow, number)
    pass_time(platform.store.client, 31)
    for number in range(3, 6):
        reserve(platform, narrow, number)
    with pytest.raises(LaneFull):
        reserve(platform, narrow, 6)


def test_a_place_whose_time_is_over_gives_no_right_to_another(platform: Platform, narrow: Service) -> None:
    """Q2: others have taken all places meanwhile."""
    platform.store._announce("narrow")
    reserve(platform, narrow, 0)
    pass_time(platform.store.client, 31)
    for number in range(1, 4):
        reserve(platform, narrow, number)
    with pytest.raises(LaneFull):
        reserve(platform, narrow, 0)


def test_a_job_is_not_written_into_a_place_whose_time_is_over(platform: Platform, narrow: Service) -> None:
    """Q2, Q3: its call stood still, and others have taken all places meanwhile."""
    platform.store._announce("narrow")

    def fill(step: str) -> None:
        platform.store.scripts.after = lambda name: None
        pass_time(platform.store.client, 31)
        for number in range(3):
            reserve(platform, narrow, number)

    platform.store.scripts.after = lambda name: fill(name) if name == "claim" else None
    with pytest.raises(LaneFull):
        platform.buy("narrow")
    assert platform.lanes.load("narrow") == (0, 0)


def test_the_same_job_keeps_its_place_for_longer(platform: Platform, narrow: Service) -> None:
    """J7: a resend heals a crashed claim also in a lane that is full but for it."""
    for number in range(3):
        reserve(platform, narrow, number)
    reserve(platform, narrow, 2)
    assert platform.store.client.zcard(keys.reserved("narrow")) == 3


def test_a_call_that_only_asks_takes_no_place(platform: Platform, narrow: Service) -> None:
    """H1: the unpaid call asks before anybody signs."""
    for _ in range(9):
        platform.desk.admits(narrow)
    assert platform.store.client.zcard(keys.reserved("narrow")) == 0


def test_a_lane_whose_wait_is_too_long_says_how_long(platform: Platform, narrow: Service) -> None:
    """Q2: Retry-After from the estimate: two ahead, 10 s each."""
    reserve(platform, narrow, 1)
    reserve(platform, narrow, 2)
    with pytest.raises(LaneFull) as error:
        reserve(platform, narrow, 3, most_wait=19)
    assert error.value.retry_after_seconds == 20
    reserve(platform, narrow, 3, most_wait=20)


def test_the_estimate_learns_from_durations(platform: Platform, narrow: Service) -> None:
    """Q2: exponentially weighted; seeded by expected_seconds."""
    reserve(platform, narrow, 1)
    reserve(platform, narrow, 2)
    for _ in range(60):
        platform.lanes.learn(narrow, 1.0)
    reserve(platform, narrow, 3, most_wait=3)


def test_an_on_success_call_must_still_fit_its_payment(platform: Platform) -> None:
    """Q2: 300 s to pay, 10 s margin, 280 s of work leave 10 s to wait."""
    tight = service("tight", timeout_seconds=280, max_timeout_seconds=300, concurrency=1, expected_seconds=11)
    platform.registry.add(tight)
    platform.desk.admits(tight)
    platform.buy("tight")
    with pytest.raises(LaneFull):
        platform.desk.admits(tight)


def call_with(platform: Platform, name: str, valid_seconds: int) -> None:
    """Call with a payment that expires after so long."""
    ledger = platform.clock.latest_ledger + valid_seconds // 5
    platform.buy(name, payment=platform.payment(name, expiration_ledger=ledger))


def test_a_payment_that_leaves_no_time_to_work_is_refused(platform: Platform) -> None:
    """S2: 100 s of expected work, 10 s to settle, and the ledger clock may be 5 s old."""
    platform.registry.add(service("long", timeout_seconds=200, expected_seconds=100))
    with pytest.raises(PaymentRejected) as error:
        call_with(platform, "long", 110)
    assert error.value.reason == "invalid_exact_stellar_signature_expiration_too_soon"
    call_with(platform, "long", 115)


def test_no_more_is_expected_than_a_job_may_take(platform: Platform) -> None:
    """S2: `min(timeout_seconds, expected)`; under upfront the work has no deadline at all."""
    platform.registry.add(service("brief", timeout_seconds=20, expected_seconds=100))
    platform.registry.add(service("paid", timeout_seconds=200, expected_seconds=100, charge="upfront"))
    with pytest.raises(PaymentRejected):
        call_with(platform, "brief", 30)
    call_with(platform, "brief", 35)
    call_with(platform, "paid", 10)


def test_a_payment_just_signed_always_leaves_time(platform: Platform) -> None:
    """P1: work may take all the time of its payment, though ledgers close and buyers take one for 6 s."""
    limits = {"timeout_seconds": 50, "expected_seconds": 50, "max_timeout_seconds": 60}
    platform.registry.add(service("whole", **limits))
    call_with(platform, "whole", 40)
    with pytest.raises(PaymentRejected):
        call_with(platform, "whole", 35)


def test_a_payment_must_last_for_the_wait_too(platform: Platform) -> None:
    """Q2: behind a job of 50 s, 65 s are too few for another; whoever signs anew has its chance."""
    platform.registry.add(service("queue", timeout_seconds=50, expected_seconds=50, concurrency=1))
    call_with(platform, "queue", 300)
    with pytest.raises(LaneFull):
        call_with(platform, "queue", 65)
    call_with(platform, "queue", 120)


def test_racing_calls_never_take_more_places_than_there_are(platform: Platform, narrow: Service) -> None:
    """Q2: the compare and the reservation are one script."""
    answers = race(16, lambda number: reserve(platform, narrow, number))
    assert answers.count(None) == 3
    assert platform.store.client.zcard(keys.reserved("narrow")) == 3


@pytest.mark.parametrize("measured", [None, 8])
def test_the_wait_that_is_shown_is_the_one_that_admission_computes(
    platform: Platform, measured: float | None
) -> None:
    """Q2: `reserve.lua` has the formula of `model.pace` once more, since it admits in the same step."""
    wide = service("wide", max_queued=9, concurrency=2, expected_seconds=10)
    platform.registry.add(wide)
    if measured:
        platform.lanes.learn(wide, measured)
    for number in range(5):
        shown = read_stats(platform.store, [wide])["wide"].wait_seconds
        if shown:
            with pytest.raises(LaneFull) as full:
                reserve(platform, wide, number, most_wait=shown - 1)
            assert full.value.retry_after_seconds == shown
        reserve(platform, wide, number, most_wait=shown)
