"""Jobs that the sweep looks at too soon: it decides by the record, not by having been called (§9)."""

import pytest

from provider.jobs.store import keys
from tests.integration.jobs.test_sweep import EXPIRED, leased, swept, with_output
from tests.support.jobs import Platform, running_platform


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_settlement_under_way_is_left_alone_whenever_it_is_looked_at(platform: Platform, name: str) -> None:
    """Rows 1, 2 and 4: neither the payment's expiry nor the end of the facilitator's time says anything."""
    job = with_output(platform) if name == "after" else platform.buy("before")
    platform.store.begin_settlement(job, "slow", give_up_seconds=150)
    for seconds in (16, 132):
        platform.store.client.zadd(keys.due(name), {job.id: 1})
        assert swept(platform, seconds, EXPIRED) == {"wait": 1}
    assert platform.job(job).is_settling


def test_a_payment_may_land_in_its_last_ledger(platform: Platform) -> None:
    """Row 2: past the expiration ledger, and not before."""
    with_output(platform)
    assert swept(platform, 16, EXPIRED - 1) == {"settle_again": 1}
    assert swept(platform, 16, 1) == {"expire": 1}


def test_a_lease_that_runs_is_left_alone_whenever_it_is_looked_at(platform: Platform) -> None:
    """Row 3: the worker may have renewed it after the job was found due."""
    job = leased(platform)
    platform.store.client.zadd(keys.due("after"), {job.id: 1})
    assert swept(platform) == {"wait": 1}
    assert platform.job(job).owner == "w1"


def test_a_finished_job_is_kept_for_its_retention_whenever_it_is_looked_at(platform: Platform) -> None:
    """Row 6, J15."""
    job = platform.finish(platform.buy())
    platform.store.client.zadd(keys.due("after"), {job.id: 1})
    assert swept(platform, 3600, EXPIRED) == {"wait": 1}
    assert platform.job(job).is_final


def test_a_finished_job_is_kept_while_its_payment_could_still_land(redis_url: str) -> None:
    """J15: a short retention must not let a payment be used twice."""
    with running_platform(redis_url, retention_seconds=60) as platform:
        job = platform.finish(platform.buy())
        assert swept(platform, 61, EXPIRED - 1) == {"wait": 1}
        assert platform.job(job).is_final
        assert swept(platform, 16, 1) == {"forget": 1}
