"""The order of a paid call (H2): each step fails without any effect of the later ones."""

from collections.abc import Callable
from typing import Any

import pytest

from provider.errors import FacilitatorUnreachable, InvalidInput, LaneFull, PaymentRejected, ProviderError
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from tests.support.jobs import Platform, service

WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


@pytest.fixture
def platform(platform: Platform) -> Platform:
    """Sell a service that is particular about its input, and has one place."""
    platform.registry.add(service("strict", input_schema=WORD, max_queued=1))
    return platform


def left_behind(platform: Platform) -> list[str]:
    """Give all that is stored but for the lane's list of places, which only empties itself."""
    stored: list[str] = platform.store.client.keys("provider:*")  # type: ignore[assignment]
    return sorted(key for key in stored if key != keys.SERVICES)


def test_a_wrong_input_is_named_and_nobody_is_asked(platform: Platform) -> None:
    """Input comes before lane and facilitator."""
    with pytest.raises(InvalidInput) as error:
        platform.buy("strict", {"word": 7}, platform.payment("strict"))
    assert error.value.fields["fields"][0]["field"] == "/word"
    assert (platform.facilitator.asked, left_behind(platform)) == ([], [])


def test_a_payment_that_does_not_pay_takes_no_place(platform: Platform) -> None:
    """Payload checks come before the lane: an expired authorisation is refused though the lane is full."""
    platform.buy("strict", {"word": "x"})
    before, asked = left_behind(platform), platform.facilitator.calls("/verify")
    with pytest.raises(PaymentRejected):
        platform.buy("strict", {"word": "x"}, platform.payment("strict", expiration_ledger=1))
    assert (left_behind(platform), platform.facilitator.calls("/verify")) == (before, asked)


def test_a_full_lane_asks_no_facilitator(platform: Platform) -> None:
    """The lane comes before /verify."""
    platform.buy("strict", {"word": "x"})
    before = left_behind(platform)
    with pytest.raises(LaneFull):
        platform.buy("strict", {"word": "x"})
    assert (left_behind(platform), platform.facilitator.calls("/verify")) == (before, 1)


def refuse(platform: Platform) -> None:
    platform.facilitator.refuse("insufficient_funds")


def break_down(platform: Platform) -> None:
    platform.facilitator.verify = lambda _: (500, {})


@pytest.mark.parametrize(
    ("trouble", "error"), [(refuse, PaymentRejected), (break_down, FacilitatorUnreachable)]
)
def test_a_payment_that_is_not_verified_leaves_nothing(
    platform: Platform, trouble: Callable[[Platform], None], error: type[ProviderError]
) -> None:
    """No claim, no reservation: the same payment may come again, and does."""
    payment = platform.payment("strict", identifier="order-0123456789")
    trouble(platform)
    with pytest.raises(error):
        platform.buy("strict", {"word": "x"}, payment)
    assert left_behind(platform) == []
    platform.facilitator.verify = lambda _: (200, {"isValid": True})
    assert platform.buy("strict", {"word": "x"}, payment).status is Status.QUEUED


def test_a_place_is_kept_once_the_payment_is_verified(platform: Platform) -> None:
    """Q3: before the verdict the last place is free, after it the claim has it."""
    inside: list[None] = []

    def meanwhile(_: dict[str, Any]) -> tuple[int, Any]:
        inside.append(platform.desk.admits(platform.registry.get("strict")))
        return 200, {"isValid": True}

    platform.facilitator.verify = meanwhile
    platform.buy("strict", {"word": "x"})
    assert inside == [None]
    with pytest.raises(LaneFull):
        platform.desk.admits(platform.registry.get("strict"))


def test_the_time_a_verification_took_is_not_worked(platform: Platform) -> None:
    """S2: the deadline is the payment's, not that of a reading before the verification."""
    import time

    platform.facilitator.verify = lambda _: (time.sleep(1.2), (200, {"isValid": True}))[1]  # type: ignore[func-returns-value]
    job = platform.buy("strict", {"word": "x"})
    assert job.deadline_ms is not None
    assert job.deadline_ms - job.created_at_ms < (59 * 5 - 10 - 1.2) * 1000 + 1


@pytest.mark.parametrize(("name", "status"), [("after", Status.QUEUED), ("before", Status.PENDING)])
def test_a_new_claim_is_dispatched_once(platform: Platform, name: str, status: Status) -> None:
    """H2: claim, then dispatch: on-success to the lane, upfront to be settled."""
    job = platform.buy(name)
    assert job.status is status
    handled = status is Status.QUEUED
    assert (platform.wakeups.handled, platform.wakeups.settled) == (
        [job.id] * handled,
        [job.id] * (not handled),
    )
