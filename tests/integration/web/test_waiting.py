"""How long an answer is held (standard H3)."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from provider.web import held
from tests.integration.web.conftest import Shop
from tests.support.facilitator import valid
from tests.support.redis_server import RedisServer


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.monotonic()
    return call(), time.monotonic() - began


def test_a_call_is_held_until_its_job_is_final(shop: Shop) -> None:
    """Without a preference the buyer of short work gets its output in one answer."""
    shop.wake_ups.then = shop.worker.finish
    answer = shop.call(prefer="")
    assert (answer.status_code, answer.json["output"]) == (200, {"said": "hi"})
    assert "Preference-Applied" not in answer.headers


def test_an_upfront_call_is_held_until_its_payment_is_known(shop: Shop) -> None:
    """Its answer carries the receipt; the work comes later."""
    shop.wake_ups.then = shop.worker.settler.settle
    answer, seconds = timed(lambda: shop.call("prepaid", prefer=""))
    assert (answer.status_code, answer.json["status"]) == (202, "queued")
    assert "PAYMENT-RESPONSE" in answer.headers
    assert seconds < 1.5


def test_an_upfront_call_with_a_wait_is_held_until_it_is_final(shop: Shop) -> None:
    """Who asks to wait wants the output."""

    def settle_and_work_later(job_id: str) -> None:
        shop.worker.settler.settle(job_id)
        threading.Timer(0.3, shop.worker.produce, (job_id,)).start()

    shop.wake_ups.then = settle_and_work_later
    answer = shop.call("prepaid", prefer="wait=2")
    assert (answer.status_code, answer.json["output"]) == (200, {"said": "hi"})


def test_a_wait_that_runs_out_is_202(shop: Shop) -> None:
    """And says which wait was granted."""
    answer, seconds = timed(lambda: shop.call(prefer="wait=1"))
    assert answer.status_code == 202
    assert 0.9 < seconds < 1.8
    assert answer.headers["Preference-Applied"] == "wait=1"


@pytest.mark.parametrize("name", ["echo", "prepaid"])
def test_a_call_without_a_preference_is_answered_before_clients_give_up(
    make_shop: Callable[..., Shop], redis_url: str, name: str
) -> None:
    """H3: the time counts from the call's begin, and the 202 says what to do. Red before: held for 25 s."""
    shop = make_shop(redis_url, call_wait_seconds=0.8, request_wait_seconds=25)
    shop.facilitator.verify = lambda _: (time.sleep(0.5), valid({}))[1]
    answer, seconds = timed(lambda: shop.call(name, prefer=""))
    assert (answer.status_code, 0.7 < seconds < 1.2) == (202, True)
    assert {"Location", "Retry-After"} <= set(answer.headers.keys())
    assert "Location" in answer.json["next"]


def test_a_wait_longer_than_allowed_is_cut(shop: Shop) -> None:
    """A router in front would cut it with an error instead."""
    answer, seconds = timed(lambda: shop.call(prefer="wait=60"))
    assert seconds < 3
    assert answer.headers["Preference-Applied"] == "wait=2"


def test_respond_async_is_not_held(shop: Shop) -> None:
    """The job is named at once."""
    answer, seconds = timed(lambda: shop.call(prefer="respond-async"))
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (202, "respond-async")
    assert seconds < 0.9


def test_a_look_up_is_held_only_when_asked(shop: Shop) -> None:
    """GET /jobs/<id> answers at once; with a wait it sleeps until the job is final."""
    job_id = shop.call().json["id"]
    assert timed(lambda: shop.client.get(f"/jobs/{job_id}"))[1] < 0.5
    threading.Timer(0.3, shop.worker.finish, (job_id,)).start()
    answer, seconds = timed(lambda: shop.client.get(f"/jobs/{job_id}", headers={"Prefer": "wait=2"}))
    assert (answer.status_code, seconds < 1.5) == (200, True)


def test_a_final_job_is_never_held(shop: Shop) -> None:
    """There is nothing to wait for."""
    job_id = shop.call().json["id"]
    shop.worker.finish(job_id)
    assert timed(lambda: shop.client.get(f"/jobs/{job_id}", headers={"Prefer": "wait=2"}))[1] < 0.5


def test_a_held_answer_asks_redis_next_to_nothing(shop: Shop) -> None:
    """It sleeps on an event; polling would show as reads."""
    job_id = shop.call().json["id"]
    shop.client.get(f"/jobs/{job_id}", headers={"Prefer": "wait=1"})
    shop.store.client.config_resetstat()
    shop.client.get(f"/jobs/{job_id}", headers={"Prefer": "wait=1"})
    commands: Any = shop.store.client.info("commandstats")
    assert commands["cmdstat_hmget"]["calls"] <= 5
    assert "cmdstat_hgetall" not in commands


@pytest.mark.parametrize("places", [1, 4])
def test_a_process_holds_so_many_answers(make_shop: Callable[..., Shop], redis_url: str, places: int) -> None:
    """A client that finds every place taken is answered at once, unwaited."""
    shop = make_shop(redis_url, web_streams=places)
    job_id = shop.call().json["id"]
    waiting = [threading.Thread(target=_hold, args=(shop, job_id)) for _ in range(places)]
    for thread in waiting:
        thread.start()
    time.sleep(0.3)
    answer, seconds = timed(lambda: shop.client.get(f"/jobs/{job_id}", headers={"Prefer": "wait=2"}))
    assert (answer.status_code, seconds < 0.5) == (202, True)
    assert "Preference-Applied" not in answer.headers
    for thread in waiting:
        thread.join()


def test_a_held_answer_survives_a_read_that_fails(
    make_shop: Callable[..., Shop], own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job was claimed: the buyer gets it, and not an error, though Redis went away meanwhile."""
    monkeypatch.setattr(held, "AGAIN_SECONDS", 0.1)
    shop = make_shop(own_redis.url)
    job_id = shop.call().json["id"]
    threading.Timer(0.3, own_redis.kill).start()
    threading.Timer(0.4, shop.client.application.extensions["provider"].events.stop).start()
    answer = shop.client.get(f"/jobs/{job_id}", headers={"Prefer": "wait=2"})
    assert (answer.status_code, answer.json["status"]) == (202, "queued")


def _hold(shop: Shop, job_id: str) -> None:
    shop.client.application.test_client().get(f"/jobs/{job_id}", headers={"Prefer": "wait=1"})
