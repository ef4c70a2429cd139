"""A job is read and encoded once for all who look at it at the same time (`provider.web.views`)."""

import gc
import json
from typing import Any

import pytest

from provider.errors import JobNotFound
from provider.jobs.store import keys
from provider.web.views import JobViews
from tests.integration.web.conftest import Shop
from tests.support.racing import race
from tests.support.waiting import reads


@pytest.fixture
def views(shop: Shop) -> JobViews:
    found: JobViews = shop.client.application.extensions["provider"].views
    return found


def test_fifty_streams_of_a_job_share_its_output(shop: Shop, views: JobViews) -> None:
    """It may be a megabyte, and its clients slow. Red while each stream encoded a text of its own."""
    job_id = shop.call().json["id"]
    shop.worker.finish(job_id)
    first = views.get(job_id)
    assert json.loads(first.text)["output"] == {"said": "hi"}
    before = outputs_read(shop)
    found = race(50, lambda _: views.get(job_id))
    assert all(view is first for view in found)
    assert outputs_read(shop) == before


def outputs_read(shop: Shop) -> int:
    stats: Any = shop.store.client.info("commandstats")
    return int(stats["cmdstat_hgetall"]["calls"])


def test_many_looks_at_once_take_few_trips(shop: Shop, views: JobViews) -> None:
    """Sixteen threads, eight jobs: each gets its own."""
    ids = [shop.call().json["id"] for _ in range(8)]
    before = reads(shop.store)
    found = race(16, lambda number: views.get(ids[number % 8]).job.id)
    assert found == ids * 2
    assert reads(shop.store) - before <= 16


def test_a_view_is_not_kept_longer_than_it_is_used(shop: Shop, views: JobViews) -> None:
    """What is in memory are the jobs that clients look at now."""
    job_id = shop.call().json["id"]
    view = views.get(job_id)
    assert list(views._shared) == [job_id]
    del view
    gc.collect()
    assert not views._shared


def test_a_view_shows_the_job_as_it_is(shop: Shop, views: JobViews) -> None:
    """One that is in use is not given for a job that has changed since."""
    job_id = shop.call().json["id"]
    shown = [views.get(job_id)]
    shop.worker.start(job_id)
    shown.append(views.get(job_id))
    shop.worker.lanes.renew(job_id, "worker", lease_seconds=30, progress={"done": 1})
    shown.append(views.get(job_id))
    shop.worker.outcomes.output(shop.store.get(job_id), '{"said":"hi"}', {})
    shop.worker.settler.settle(job_id)
    shown.append(views.get(job_id))
    objects = [json.loads(view.text) for view in shown]
    assert [one["status"] for one in objects] == ["queued", "running", "running", "succeeded"]
    assert objects[2]["progress"] == {"done": 1}
    assert [("output" in one) for one in objects] == [False, False, False, True]


@pytest.mark.parametrize("job_id", ["echo." + "0" * 32, "nonsense", "a:b.c"])
def test_what_is_not_there_is_not_found(views: JobViews, job_id: str) -> None:
    with pytest.raises(JobNotFound):
        views.get(job_id)


def test_an_unreadable_record_hides_no_other(shop: Shop, views: JobViews) -> None:
    """A thousand streams must not end for it."""
    sound, broken = (shop.call().json["id"] for _ in range(2))
    shop.store.client.hset(keys.job(broken), "terms", json.dumps("?"))
    found = race(8, lambda number: views.get((sound, broken)[number % 2]))
    assert all(view.job.id == sound for view in found[::2])  # type: ignore[union-attr]
