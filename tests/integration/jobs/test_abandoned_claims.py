"""A process dies between the claim key and the record: the resend heals it, or the sweep (J7)."""

from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from provider.errors import JobNotFound
from provider.jobs.model.job import Job
from provider.jobs.model.job_id import place_for
from provider.jobs.model.status import Status
from provider.jobs.recover.orphans import ABANDONED
from provider.jobs.store import keys
from provider.payments.models import PaymentPayload, claim_digest
from provider.payments.stellar.check import identify_payment
from tests.support.jobs import Platform, service
from tests.support.timetravel import pass_time

OVER = 91
"""Seconds after which the sweep gives a claim up: 30 s of reservation, and the margin of 60 s."""
FOR_GOOD = -1


class Death(BaseException):
    """Plays the death of a process, and any error: no clean-up may free the place once the claim is taken."""


def after(platform: Platform, step: str, act: Callable[[], Any]) -> None:
    """Act once, right after a script has run."""

    def once(name: str) -> None:
        if name == step:
            platform.store.scripts.after = lambda name: None
            act()

    platform.store.scripts.after = once


def die() -> None:
    raise Death


def claimed_only(platform: Platform, name: str = "after") -> PaymentPayload:
    """Leave a claim key without a record."""
    payment = platform.payment(name)
    platform.store._announce(name)
    after(platform, "claim", die)
    with pytest.raises(Death):
        platform.buy(name, payment=payment)
    return payment


def claim_of(platform: Platform, payment: PaymentPayload) -> tuple[str | None, int]:
    """Give the job that a claim names, and how long it is kept in seconds."""
    who = identify_payment(payment)
    key = keys.claim(claim_digest(who.network, who.asset, who.payer, who.nonce))
    client: Any = platform.store.client
    return client.hget(key, "job"), client.ttl(key)


def test_a_claim_without_a_job_ends_with_its_payment(platform: Platform) -> None:
    """No money moved, so nothing is owed; the payment stays claimed while it is valid."""
    payment = claimed_only(platform)
    job_id, kept = claim_of(platform, payment)
    assert kept == FOR_GOOD
    pass_time(platform.store.client, OVER)
    with capture_logs() as logs:
        assert platform.sweep.run().actions == {"abandon": 1}
    assert 500 < claim_of(platform, payment)[1] <= 510  # At slow ledgers half as long again as was asked for.
    assert [line["job_id"] for line in logs if line["event"] == ABANDONED] == [job_id]
    assert platform.sweep.run().actions == {}
    assert platform.store.client.zcard(keys.reserved("after")) == 0


@pytest.mark.parametrize("swept", [False, True])
def test_a_resend_heals_it_before_and_after_the_sweep(platform: Platform, swept: bool) -> None:
    """J3: the job gets the id that the claim names, and the claim lasts as long as any."""
    payment = claimed_only(platform)
    if swept:
        pass_time(platform.store.client, OVER)
        platform.sweep.run()
    job = platform.buy(payment=payment)
    pass_time(platform.store.client, OVER)
    assert platform.sweep.run().actions == {}
    assert claim_of(platform, payment) == (job.id, FOR_GOOD)
    assert platform.buy(payment=payment).id == job.id


def test_a_call_in_progress_is_left_alone(platform: Platform) -> None:
    """As long as its place is kept, and for the margin after that."""
    payment = claimed_only(platform)
    pass_time(platform.store.client, OVER - 2)
    assert platform.sweep.run().actions == {}
    assert claim_of(platform, payment)[1] == FOR_GOOD


def test_a_call_that_stood_still_until_it_was_given_up_still_becomes_a_job(platform: Platform) -> None:
    """Its place is over, so that it takes one anew, and the claim with it."""
    payment = platform.payment()
    platform.store._announce("after")

    def stand_still() -> None:
        pass_time(platform.store.client, OVER)
        assert platform.sweep.run().actions == {"abandon": 1}

    after(platform, "claim", stand_still)
    job = platform.buy(payment=payment)
    assert claim_of(platform, payment) == (job.id, FOR_GOOD)
    assert platform.job(job).status is Status.QUEUED
    assert platform.store.client.zcard(keys.reserved("after")) == 0


def test_a_call_that_comes_back_while_it_is_given_up_keeps_its_claim(platform: Platform) -> None:
    """The sweep has set the claim's end when the job is written."""
    payment = claimed_only(platform)
    pass_time(platform.store.client, OVER)
    made: list[Job] = []
    after(platform, "abandon", lambda: made.append(platform.buy(payment=payment)))
    assert platform.sweep.run().actions == {}
    assert claim_of(platform, payment) == (made[0].id, FOR_GOOD)


def test_a_call_that_takes_its_place_anew_while_it_is_given_up_keeps_its_claim(platform: Platform) -> None:
    """The sweep has set the claim's end when the place is taken again, and the job is yet to be written."""
    payment = claimed_only(platform)
    job_id = claim_of(platform, payment)[0]
    pass_time(platform.store.client, OVER)
    digest = claim_digest(*_parts(payment))
    lane = platform.registry.get("after")
    place = place_for(job_id or "", digest)
    after(platform, "abandon", lambda: platform.lanes.reserve(lane, place, seconds=30, most_wait_seconds=99))
    assert platform.sweep.run().actions == {}
    assert claim_of(platform, payment) == (job_id, FOR_GOOD)
    assert platform.store.client.zcard(keys.reserved("after")) == 1


def _parts(payment: PaymentPayload) -> tuple[str, str, str, int]:
    who = identify_payment(payment)
    return who.network, who.asset, who.payer, who.nonce


def test_the_claim_of_another_call_is_not_given_up(platform: Platform) -> None:
    """Two calls with one payment: the one that came second died before it could free its place."""
    payment = platform.payment()
    job = platform.buy(payment=payment)
    place = place_for("after." + "0" * 32, claim_digest(*_parts(payment)))
    platform.lanes.reserve(platform.registry.get("after"), place, seconds=30, most_wait_seconds=99)
    pass_time(platform.store.client, OVER)
    assert platform.sweep.run().actions == {}
    assert claim_of(platform, payment) == (job.id, FOR_GOOD)
    assert platform.store.client.zcard(keys.reserved("after")) == 0


def test_a_resend_that_comes_after_the_record_leaves_no_place_behind(platform: Platform) -> None:
    """Two calls with one payment: the second found the claim before the first wrote the record."""
    payment = platform.payment()
    made: list[Job] = []

    def resend() -> None:
        find, platform.store.get = platform.store.get, _not_yet(platform.store.get)  # type: ignore[method-assign]
        made.append(platform.buy(payment=payment))
        platform.store.get = find  # type: ignore[method-assign]

    after(platform, "create", resend)
    assert platform.buy(payment=payment).id == made[0].id
    assert platform.store.client.zcard(keys.reserved("after")) == 0


def _not_yet(get: Callable[[str], Job]) -> Callable[[str], Job]:
    """Give a read of a record that comes too early, once."""
    early = iter([True])

    def read(job_id: str) -> Job:
        if next(early, False):
            raise JobNotFound
        return get(job_id)

    return read


def test_a_place_beside_its_record_is_dropped_and_the_claim_kept(platform: Platform) -> None:
    """However it came there: else each sweep would find it again."""
    payment = platform.payment()
    job = platform.buy(payment=payment)
    place = place_for(job.id, claim_digest(*_parts(payment)))
    platform.store.client.zadd(keys.reserved("after"), {place: 1})
    assert platform.sweep.run().actions == {}
    assert claim_of(platform, payment) == (job.id, FOR_GOOD)
    assert platform.store.client.zcard(keys.reserved("after")) == 0


def test_while_nobody_offers_the_service_its_claims_wait(platform: Platform) -> None:
    """How long its payments are valid stands in its declaration."""
    platform.registry.add(service("gone"))
    payment = claimed_only(platform, "gone")
    pass_time(platform.store.client, OVER)
    without = Platform(platform.redis_url, platform.facilitator, seller=platform.seller)
    assert without.sweep.run().actions == {}
    assert claim_of(platform, payment)[1] == FOR_GOOD
    assert platform.sweep.run().actions == {"abandon": 1}
