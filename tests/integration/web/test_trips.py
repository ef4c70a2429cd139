"""What a paid call and the start of its handler ask of Redis: trips are what takes time (bench/README.md)."""

from typing import Any

import redis

from provider.jobs.run.runner import Runner
from provider.jobs.store import keys
from tests.integration.web.conftest import Shop


def test_a_queued_call_takes_six_trips(shop: Shop, redis_url: str) -> None:
    """The earlier claim, the lane, the place, the claim, the list of services, the record.

    The first two write nothing, and the list of services only where it was lost.
    """
    shop.call()
    with redis.Redis.from_url(redis_url).monitor() as monitor:
        assert shop.call().status_code == 202
        shop.store.ping()
        trips = [line["command"].split()[0] for line in _until_ping(monitor)]
    assert trips == ["HGETALL", *["EVALSHA"] * 3, "SADD", "EVALSHA"]


def test_a_first_start_reads_no_checkpoints(shop: Shop, redis_url: str) -> None:
    """R5: there are none. That a later start reads them is shown where workers are stopped."""
    job_id = shop.call().json["id"]
    with redis.Redis.from_url(redis_url).monitor() as monitor:
        Runner(shop.store, shop.registry, shop.wake_ups, shop.settings).run_next("echo")
        shop.store.ping()
        asked = [line["command"] for line in _until_ping(monitor)]
    assert any(keys.job(job_id) in command for command in asked)
    assert f"HGETALL {keys.work(job_id)}" not in asked


def _until_ping(monitor: Any) -> list[dict[str, str]]:
    """Give what clients asked, without what scripts do, up to our mark."""
    found = []
    for line in monitor.listen():
        if line["command"] == "PING":
            return found
        if line["client_type"] != "lua":
            found.append(line)
    return found


def test_the_answer_to_a_call_tells_the_place_that_the_job_has(shop: Shop) -> None:
    """Q5: the same as a look a moment later, while slots are free and while they are taken."""
    for start in (False, False, False, True, False):
        answer = shop.call().json
        assert answer["queue"] == shop.client.get(f"/jobs/{answer['id']}").json["queue"]
        if start:
            shop.worker.start(answer["id"])
    assert answer["queue"]["estimatedStartSeconds"] > 0
