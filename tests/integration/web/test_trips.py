"""What a paid call asks of Redis: each trip is a ninth of its time (bench/README.md)."""

from typing import Any

import redis

from tests.integration.web.conftest import Shop


def test_a_queued_call_takes_four_trips(shop: Shop, redis_url: str) -> None:
    """The earlier claim, the lane, the claim, the record; its place in the lane comes with the record."""
    shop.call()
    with redis.Redis.from_url(redis_url).monitor() as monitor:
        assert shop.call().status_code == 202
        shop.store.ping()
        trips = [line["command"].split()[0] for line in _until_ping(monitor)]
    assert trips == ["HGETALL", "EVALSHA", "EVALSHA", "EVALSHA"]


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
