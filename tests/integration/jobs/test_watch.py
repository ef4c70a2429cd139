"""Looking at many jobs at once, for those who wait for them."""

import json
from typing import Any

from provider.jobs.model.status import Status
from provider.jobs.store import keys
from provider.jobs.store.batch_reads import glance
from tests.support.jobs import Platform

UNKNOWN = "after." + "0" * 32


def test_a_glance_shows_what_a_job_shows_and_nothing_that_is_withheld(platform: Platform) -> None:
    """What is not read cannot be told (J14), and costs nothing."""
    job = platform.buy(value={"word": "private"})
    platform.runner.run_next(job.service)
    whole = platform.store.get(job.id)
    assert "private" in (whole.output or "")
    seen = glance(platform.store, [job.id, UNKNOWN])[job.id]
    assert (seen.input, seen.output, seen.payment) == ("", None, None)
    assert (seen.version, seen.status, seen.terms) == (whole.version, whole.status, whole.terms)


def test_an_unreadable_record_hides_no_other(platform: Platform) -> None:
    """A thousand streams must not end for it."""
    sound, broken = platform.buy(), platform.buy()
    platform.store.client.hset(keys.job(broken.id), "terms", json.dumps("?"))
    assert set(glance(platform.store, [broken.id, sound.id])) == {sound.id}


def test_a_job_that_may_start_now_is_announced(platform: Platform) -> None:
    """When it is claimed, and when its next try is due: remote workers and pages wait for it."""
    pubsub = platform.store.client.pubsub(ignore_subscribe_messages=True)
    pubsub.psubscribe(keys.EVENTS)
    assert pubsub.get_message(timeout=5) is None  # The answer to the subscription.
    job = platform.buy()
    assert heard(pubsub) == (job.id, "queued")
    platform.lanes.lease(platform.registry.get(job.service), job.id, "owner", lease_seconds=30)
    assert heard(pubsub) == (job.id, "running")
    platform.store.move(platform.job(job), Status.QUEUED, {"not_before_ms": 1}, owner="owner", look=0)
    assert heard(pubsub) == (job.id, "queued")
    assert platform.lanes.ready(platform.job(job))
    assert heard(pubsub) == (job.id, "queued")


def heard(pubsub: Any) -> tuple[str, str]:
    message = pubsub.get_message(timeout=5)
    return keys.job_id_of(message["channel"]), message["data"]
