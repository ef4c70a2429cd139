"""What happens to a job, as server-sent events (standard §2, J14)."""

import json
import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from provider.jobs.model.status import ErrorCode
from provider.jobs.store import keys
from tests.integration.web.conftest import Shop
from tests.support.processes import wait_until
from tests.support.sse import Event, events
from tests.support.waiting import reads, subscribe


def follow(shop: Shop, job_id: str, last_id: str = "") -> tuple[Any, Iterator[Event]]:
    """Open a stream as a buyer's program does, and read it in a thread as it comes."""
    client = shop.client.application.test_client()
    answer = client.get(f"/jobs/{job_id}/events", headers={"Last-Event-ID": last_id} if last_id else {})
    heard: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        for chunk in answer.iter_encoded():
            heard.put(chunk)
        heard.put(None)

    threading.Thread(target=read, daemon=True).start()
    return answer, events(iter(lambda: heard.get(timeout=20), None))


@pytest.fixture
def hearing(shop: Shop) -> None:
    """Have the process hear before anything happens."""
    subscribe(shop.client.application.extensions["provider"].events, shop.store)


def test_a_job_is_followed_from_its_place_to_its_output(shop: Shop) -> None:
    """Each event has the job object as GET /jobs/<id> gives it, and the stream ends with the final one."""
    job_id = shop.call().json["id"]
    _, stream = follow(shop, job_id)
    first = next(stream)
    shown = shop.client.get(f"/jobs/{job_id}").json
    assert shown.pop("next"), "the answer alone says what to do next"
    assert (first.name, first.data) == ("status", shown)
    assert first.data["queue"]["position"] == 1
    shop.worker.start(job_id)
    assert next(stream).data["status"] == "running"
    shop.worker.lanes.renew(job_id, "worker", lease_seconds=30, progress={"done": 1, "total": 2})
    moved = next(stream)
    assert (moved.name, moved.data["progress"]) == ("progress", {"done": 1, "total": 2})
    shop.worker.outcomes.output(shop.store.get(job_id), '{"said":"hi"}', {})
    shop.worker.settler.settle(job_id)
    assert [(event.name, event.data) for event in stream] == [
        ("status", shop.client.get(f"/jobs/{job_id}").json)
    ]


def test_an_output_is_in_no_event_before_it_is_paid(shop: Shop) -> None:
    """The job stays running in the meantime, and shows nothing new (J14)."""
    job_id = shop.call().json["id"]
    _, stream = follow(shop, job_id)
    shown = [next(stream).data]
    shop.worker.produce(job_id)
    shown.append(next(stream).data)
    shop.worker.settler.settle(job_id)
    shown += [event.data for event in stream]
    assert [job["status"] for job in shown][-2:] == ["running", "succeeded"]
    assert [job["output"] for job in shown if "output" in job] == [{"said": "hi"}]


def test_a_failure_ends_the_stream_in_words(shop: Shop) -> None:
    """As the answer to GET does, whatever its status there."""
    job_id = shop.call().json["id"]
    shop.worker.fail(job_id, ErrorCode.SERVICE_FAILED)
    answer, stream = follow(shop, job_id)
    assert answer.status_code == 200
    assert [event.data["error"]["code"] for event in stream] == ["service_failed"]


@pytest.mark.usefixtures("hearing")
def test_who_comes_back_gets_the_present_state_if_it_is_another(shop: Shop) -> None:
    """`Last-Event-ID` names what was seen; an unknown one was not."""
    job_id = shop.call().json["id"]
    seen, before = next(follow(shop, job_id)[1]), reads(shop.store)
    _, stream = follow(shop, job_id, seen.id)
    assert wait_until(lambda: reads(shop.store) >= before + 2)  # The view and its stream.
    shop.worker.start(job_id)
    assert next(stream).data["status"] == "running"
    for last_id in (seen.id, "no such event", "9" * 400):
        assert next(follow(shop, job_id, last_id)[1]).data["status"] == "running"


def test_who_saw_the_end_is_told_to_stay_away(shop: Shop) -> None:
    """A browser comes back after each end, except when the answer is 204."""
    job_id = shop.call().json["id"]
    shop.worker.finish(job_id)
    (last,) = follow(shop, job_id)[1]
    answer, _ = follow(shop, job_id, last.id)
    assert (answer.status_code, answer.data) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_the_answer_is_one_that_no_proxy_keeps(shop: Shop) -> None:
    """Neither in a cache nor in a buffer; and any page may read it (H6)."""
    answer, _ = follow(shop, shop.call().json["id"])
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Accel-Buffering"] == "no"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_a_head_request_opens_no_stream(shop: Shop) -> None:
    """It has the headers and an end."""
    answer = shop.client.head(f"/jobs/{shop.call().json['id']}/events")
    assert (answer.status_code, answer.data) == (200, b"")


@pytest.mark.parametrize("job_id", ["echo." + "0" * 32, "no-job", "a:b.c"])
def test_an_unknown_job_is_404(shop: Shop, job_id: str) -> None:
    """As a problem, before any stream begins."""
    answer = shop.client.get(f"/jobs/{job_id}/events")
    assert (answer.status_code, json.loads(answer.data)["code"]) == (404, "job_not_found")


@pytest.mark.usefixtures("hearing")
def test_a_renewed_lease_is_no_event(shop: Shop) -> None:
    """It changes the version, and nothing that is shown."""
    job_id = shop.call().json["id"]
    shop.worker.start(job_id)
    _, stream = follow(shop, job_id)
    next(stream)
    shop.worker.lanes.renew(job_id, "worker", lease_seconds=30)
    before = reads(shop.store)
    shop.store.client.publish(keys.job(job_id), "running")
    assert wait_until(lambda: reads(shop.store) > before)
    shop.worker.lanes.renew(job_id, "worker", lease_seconds=30, progress={"done": 1})
    assert next(stream).name == "progress"


@pytest.mark.usefixtures("hearing")
def test_a_position_moves_when_others_do(shop: Shop) -> None:
    """Its followers hear of their place, every two seconds at most, and not of what others do."""
    first, second, third = (shop.call().json["id"] for _ in range(3))
    _, stream = follow(shop, third)
    assert next(stream).data["queue"]["position"] == 3
    shop.worker.start(first)
    shop.worker.lanes.renew(first, "worker", lease_seconds=30, progress={"done": 1})
    shop.worker.outcomes.fail(shop.store.get(first), ErrorCode.SERVICE_FAILED)
    shop.worker.start(second)
    heard = [next(stream)]
    while heard[-1].data["queue"]["position"] > 1:
        heard.append(next(stream))
    assert [event.name for event in heard] in (["position"], ["position"] * 2)
