"""One payment, one job, however many call at once (J2)."""

import multiprocessing
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

from provider.errors import PaymentMismatch, StoreUnavailable
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.payments.models import PaymentPayload
from tests.support.jobs import Platform
from tests.support.racing import race

PROCESSES = 8
ROUNDS = 50


def outcome(call: Callable[[], Job]) -> str:
    try:
        return call().id
    except PaymentMismatch:
        return "409"


def test_many_threads_get_one_job(platform: Platform) -> None:
    """J2: one claim, one job; seen to fail with check-then-set in place of the script."""
    for _ in range(30):
        payment = platform.payment()
        jobs = race(16, lambda _, payment=payment: platform.buy(payment=payment).id)  # type: ignore[misc]
        assert len(set(jobs)) == 1, jobs
    assert platform.lanes.load("after") == (30, 0)


def test_one_payment_for_two_services_is_one_job(platform: Platform) -> None:
    """J2: over all services; both take the same offer, so only the claim key decides."""
    for _ in range(20):
        payment = platform.payment("after")
        calls = {number: ("after", "twin")[number % 2] for number in range(16)}
        answers = race(16, lambda n, p=payment, c=calls: outcome(lambda: platform.buy(c[n], payment=p)))  # type: ignore[misc]
        assert Counter(answers)["409"] == 8
        assert len(set(answers)) == 2


def test_many_processes_get_one_job(platform: Platform) -> None:
    """Issue: 50 rounds of 8 processes, two of them call another service: one job, the rest it or 409."""
    payments = [platform.payment() for _ in range(ROUNDS)]
    answers = in_processes(platform, payments)
    for number in range(ROUNDS):
        of_round = [answer[number] for answer in answers]
        assert len(set(of_round) - {"409"}) == 1
        assert of_round.count("409") in (2, PROCESSES - 2)
    assert sum(platform.lanes.load(name)[0] for name in ("after", "twin")) == ROUNDS


@pytest.fixture
def platform(platform: Platform) -> Platform:
    """Sell the same thing under a second name."""
    from tests.support.jobs import service

    platform.registry.add(service("twin", max_queued=10_000, max_wait_seconds=1e9))
    return platform


@pytest.mark.parametrize("step", ["claim", "create"])
def test_a_resend_heals_what_a_crash_left(platform: Platform, step: str) -> None:
    """J7: the process died between claim key and record, or before its answer."""
    payment = platform.payment()
    crash(platform, step)
    with suppress(StoreUnavailable):
        platform.buy(payment=payment)
    platform.store.scripts.after = lambda name: None
    job = platform.buy(payment=payment)
    assert platform.buy(payment=payment) == job
    assert (job.status, platform.lanes.load("after")) == (Status.QUEUED, (1, 0))


def test_others_heal_nothing(platform: Platform) -> None:
    """J3: another call of a crashed claim is 409 all the same."""
    payment = platform.payment()
    crash(platform, "claim")
    with suppress(StoreUnavailable):
        platform.buy(payment=payment)
    platform.store.scripts.after = lambda name: None
    with pytest.raises(PaymentMismatch):
        platform.buy("after", {"other": 1}, payment)
    assert platform.lanes.load("after") == (0, 0)


def crash(platform: Platform, step: str) -> None:
    """Break off right after a script."""

    def after(name: str) -> None:
        if name == step:
            raise StoreUnavailable("crashed here")

    platform.store.scripts.after = after


def in_processes(platform: Platform, payments: list[PaymentPayload]) -> list[list[str]]:
    """Have processes call with the same payment in each round; answers by process and round."""
    context = multiprocessing.get_context("fork")
    line, answers = context.Barrier(PROCESSES), context.Queue()
    given = (platform.redis_url, platform.facilitator, platform.seller, payments, line, answers)
    workers = [context.Process(target=call_all, args=(number, *given)) for number in range(PROCESSES)]
    for worker in workers:
        worker.start()
    told = [answers.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(10)
    return told


def call_all(
    number: int, url: str, facilitator: Any, seller: Any, payments: list[PaymentPayload], line: Barrier,
    answers: Any,
) -> None:  # fmt: skip
    own = Platform(url, facilitator, seller=seller)
    from tests.support.jobs import service

    own.registry.add(service("twin", max_queued=10_000, max_wait_seconds=1e9))
    told = []
    for payment in payments:
        line.wait(30)
        told.append(outcome(lambda p=payment: own.buy("twin" if number >= 6 else "after", payment=p)))  # type: ignore[misc]
    answers.put(told)
