"""The checks of standard §16 see what they are there for: each is given what it must refuse."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from provider.jobs.model.job import Job
from provider.jobs.store import keys
from tests.support.invariants import Evidence, Run, check_invariants
from tests.support.jobs import Platform


@dataclass(frozen=True)
class Paid:
    """A transfer on chain."""

    recipient: str
    nonce: int


def evidence(platform: Platform, *jobs: Job, **more: Any) -> Evidence:
    """Put together what is stored, with a payment on chain for each of these jobs."""
    pay_to = platform.settings.pay_to
    paid = [Paid(pay_to, job.terms.nonce) for job in jobs] + [Paid("G-somebody-else", 7)]
    return Evidence(platform.store, platform.registry, pay_to, paid, **{"latest_ledger": 2000, **more})


def settle_fails(platform: Platform, body: Any) -> Job:
    platform.facilitator.settle = lambda _: (200, body)
    return platform.finish(platform.buy())


def test_an_honest_shop_passes(platform: Platform) -> None:
    """Both policies, and work that failed."""
    paid = [platform.finish(platform.buy(name)) for name in ("after", "before")]
    failed_after_payment = platform.finish(platform.buy("before", {"do": "raise"}))
    platform.finish(platform.buy("after", {"do": "raise"}))
    runs = [Run(job.id, 1) for job in paid]
    check_invariants(evidence(platform, *paid, failed_after_payment, runs=runs))


def double(platform: Platform) -> Evidence:
    job = platform.finish(platform.buy())
    return evidence(platform, job, job)


def unpaid_success(platform: Platform) -> Evidence:
    platform.finish(platform.buy())
    return evidence(platform)


def paid_failure(platform: Platform) -> Evidence:
    return evidence(platform, platform.finish(platform.buy("after", {"do": "raise"})))


def nobodys_payment(platform: Platform) -> Evidence:
    found = evidence(platform)
    found.transfers = [Paid(platform.settings.pay_to, 8)]
    return found


def payment_before_its_settlement(platform: Platform) -> Evidence:
    return evidence(platform, platform.buy("before"))


def early_reader(platform: Platform) -> Evidence:
    return evidence(platform, read_unpaid=["after.1"])


def uncertain_for_ever(platform: Platform) -> Evidence:
    settle_fails(platform, {"success": "true"})
    return evidence(platform)


def open_end(platform: Platform) -> Evidence:
    platform.buy()
    return evidence(platform)


def claim_without_a_job(platform: Platform) -> Evidence:
    job = platform.finish(platform.buy("after", {"do": "raise"}))
    platform.store.client.delete(keys.job(job.id))
    platform.store.client.zrem(keys.index("after"), job.id)
    return evidence(platform)


def crowd(platform: Platform) -> Evidence:
    job = platform.finish(platform.buy())
    return evidence(platform, job, runs=[Run(job.id, 3)])


def too_many_starts(platform: Platform) -> Evidence:
    job = platform.finish(platform.buy())
    return evidence(platform, job, runs=[Run(job.id, 1)] * 4)


BROKEN: list[tuple[str, Callable[[Platform], Evidence]]] = [
    ("I1", double),
    ("I2", unpaid_success),
    ("I3", paid_failure),
    ("I4", nobodys_payment),
    ("I4", payment_before_its_settlement),
    ("I5", early_reader),
    ("I6", uncertain_for_ever),
    ("I7", open_end),
    ("I7", claim_without_a_job),
    ("I8", crowd),
    ("I9", too_many_starts),
]


@pytest.mark.parametrize(("name", "broken"), BROKEN)
def test_a_broken_invariant_is_named(
    platform: Platform, name: str, broken: Callable[[Platform], Evidence]
) -> None:
    """§16."""
    with pytest.raises(AssertionError, match=rf"^{name}: "):
        check_invariants(broken(platform))
