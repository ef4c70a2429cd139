"""9.10: what costs nothing leaves little in Redis, and soon nothing."""

from typing import Any

import pytest

from provider.errors import ConfigurationError
from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.services import Registry
from tests.integration.web.conftest import Shop, facilitator, make_shop, registry, shared_facilitator, shop
from tests.support.jobs import Platform, service
from tests.support.timetravel import pass_time

__all__ = ["facilitator", "make_shop", "registry", "shared_facilitator", "shop"]

LARGE = {"text": "x" * 60_000}
HOUR, WEEK = 3600, 7 * 86_400


def cancelled(platform: Platform) -> Job:
    job = platform.buy(value=LARGE)
    return platform.canceller.cancel(job.id, by_payer=True)


def failed(platform: Platform) -> Job:
    return platform.finish(platform.buy(value={**LARGE, "do": "raise"}))


def ready_and_cancelled(platform: Platform) -> Job:
    job = platform.buy(value=LARGE)
    platform.runner.run_next("after")
    return platform.canceller.cancel(job.id)


def refused(platform: Platform) -> Job:
    refusal = {"success": False, "errorReason": "insufficient_funds", "transaction": ""}
    platform.facilitator.settle = lambda _: (200, refusal)
    return platform.finish(platform.buy(value=LARGE))


def refused_upfront(platform: Platform) -> Job:
    refusal = {"success": False, "errorReason": "insufficient_funds", "transaction": ""}
    platform.facilitator.settle = lambda _: (200, refusal)
    return platform.finish(platform.buy("before", LARGE))


ENDINGS = [cancelled, failed, ready_and_cancelled, refused, refused_upfront]


@pytest.mark.parametrize("end", ENDINGS)
def test_an_uncharged_ending_drops_input_and_output_at_once(platform: Platform, end: Any) -> None:
    """Red before: 25 claims of 0.9 MB, cancelled one after the other, kept 22 MB for a week."""
    job = end(platform)
    assert job.status in (Status.FAILED, Status.CANCELLED)
    used: Any = platform.store.client.memory_usage(keys.job(job.id), samples=0)
    assert used < 2048
    assert not platform.store.client.hmget(keys.job(job.id), ["input", "output"])[0]


def test_a_resend_finds_the_uncharged_job_all_the_same(platform: Platform) -> None:
    """J3: the claim knows its input by a digest."""
    payment = platform.payment()
    job = platform.canceller.cancel(platform.buy(value=LARGE, payment=payment).id)
    assert platform.buy(value=LARGE, payment=payment) == job


@pytest.mark.parametrize("end", ENDINGS)
def test_an_uncharged_ending_is_kept_for_an_hour(platform: Platform, end: Any) -> None:
    """Red before: for a week, as if it had been paid for."""
    job = end(platform)
    platform.clock.latest_ledger += 1000
    pass_time(platform.store.client, HOUR - 60)
    assert "forget" not in platform.sweep.run().actions
    pass_time(platform.store.client, 61)
    assert platform.sweep.run().actions["forget"] == 1
    assert not platform.store.client.exists(keys.job(job.id))


def test_a_charged_ending_is_kept_with_its_input(platform: Platform) -> None:
    """Also one that failed: its buyer has paid, and an operator may have to look."""
    paid = platform.finish(platform.buy(value=LARGE))
    lost = platform.finish(platform.buy("before", {**LARGE, "do": "raise"}))
    platform.clock.latest_ledger += 1000
    pass_time(platform.store.client, WEEK - 60)
    assert "forget" not in platform.sweep.run().actions
    assert (platform.job(paid).status, platform.job(lost).charged) == (Status.SUCCEEDED, True)
    assert len(platform.job(paid).input) == len(platform.job(lost).input) - len(',"do":"raise"')


def test_what_may_still_be_charged_is_kept_longer(platform: Platform) -> None:
    """A payment that is valid for a day is audited when it has expired, so its job is there then."""
    platform.registry.add(service("day", max_timeout_seconds=86_400))
    payment = platform.payment("day", expiration_ledger=platform.clock.latest_ledger + 17_000)
    job = platform.buy("day", payment=payment)
    platform.canceller.cancel(job.id)
    begins: Any = platform.store.client.zscore(keys.kept("day", charged=False), job.id)
    assert begins + 3_600_000 >= platform.store.now_ms() + 86_400_000


def test_an_input_is_as_large_as_its_service_allows(shop: Shop) -> None:
    """Red before: 1 MiB for every service. The payment pays for a smaller call."""
    header = shop.pay("prepaid")
    body = b'{"word":"' + b"x" * (65_536 - 11) + b'"}'
    answer = shop.call("prepaid", header, data=body + b" ")
    assert (answer.status_code, answer.json["code"]) == (413, "body_too_large")
    assert "65536 bytes" in answer.json["detail"]
    assert shop.call("prepaid", header, data=body).status_code == 202


@pytest.mark.parametrize("most", [0, 1_048_577, "64k"])
def test_a_service_allows_a_mebibyte_at_most(most: Any) -> None:
    """A declaration that says otherwise stops the start."""
    offered = Registry()
    offered.add(service("greedy", max_input_bytes=most))
    with pytest.raises(
        ConfigurationError, match="max_input_bytes: must be a whole number, 1 or more, at most"
    ):
        offered.check()
