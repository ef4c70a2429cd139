"""Streams and held answers through the server that is deployed."""

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.integration.web.conftest import Shop
from tests.integration.web.test_gunicorn import environment, paid  # noqa: F401
from tests.support.gunicorn import running_gunicorn
from tests.support.processes import wait_until
from tests.support.slow_clients import connections, waiting_clients
from tests.support.sse import Event, events

MANY = 40


@pytest.fixture(scope="module")
def url(environment: dict[str, str]) -> Iterator[str]:  # noqa: F811
    """Serve; answers are held for long."""
    with running_gunicorn({**environment, "REQUEST_WAIT_SECONDS": "25"}) as url:
        yield url


@contextlib.contextmanager
def streams(url: str, job_id: str, count: int) -> Iterator[list[Iterator[Event]]]:
    """Open streams of a job, each seen to live."""
    with contextlib.ExitStack() as stack:
        answers = [
            stack.enter_context(requests.get(f"{url}/jobs/{job_id}/events", stream=True, timeout=10))
            for _ in range(count)
        ]
        yield [events(answer.iter_content(None)) for answer in answers]


def test_many_streams_and_held_answers_end_together(shop: Shop, url: str) -> None:
    """And others are served meanwhile."""
    job_id = shop.call().json["id"]
    with streams(url, job_id, MANY) as opened, ThreadPoolExecutor(MANY) as waiting:
        assert {next(stream).data["status"] for stream in opened} == {"queued"}
        held = [
            waiting.submit(requests.get, f"{url}/jobs/{job_id}", headers={"Prefer": "wait=20"}, timeout=30)
            for _ in range(MANY)
        ]
        began = time.monotonic()
        assert requests.get(f"{url}/healthz", timeout=5).ok
        assert time.monotonic() - began < 5
        shop.worker.finish(job_id)
        answers = [future.result() for future in held]
        ends = [list(stream)[-1] for stream in opened]
    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    assert {answer.headers["Preference-Applied"] for answer in answers} == {"wait=20"}
    assert all(event.data == answers[0].json() for event in ends)


def test_a_held_answer_that_nothing_comes_to_is_202_in_time(shop: Shop, url: str) -> None:
    """And its connection serves the next request."""
    job_id = shop.call().json["id"]
    with requests.Session() as session:
        began = time.monotonic()
        answer = session.get(f"{url}/jobs/{job_id}", headers={"Prefer": "wait=1"}, timeout=10)
        assert (answer.status_code, answer.headers["Preference-Applied"]) == (202, "wait=1")
        assert 0.9 < time.monotonic() - began < 5
        assert session.get(f"{url}/jobs/{job_id}", timeout=10).status_code == 202


def test_a_process_has_so_many_places_and_a_client_that_vanished_leaves_his(
    shop: Shop,
    environment: dict[str, str],  # noqa: F811
) -> None:
    """Beyond them streams are refused and calls answered at once, and nothing else is held up."""
    job_id = shop.call().json["id"]
    with running_gunicorn({**environment, "WEB_STREAMS": "3"}) as url:
        with streams(url, job_id, 3) as opened:
            assert [next(stream).data["status"] for stream in opened] == ["queued"] * 3
            refused = requests.get(f"{url}/jobs/{job_id}/events", timeout=5)
            assert (refused.status_code, refused.json()["code"]) == (503, "streams_full")
            assert refused.headers["Retry-After"]
            answer = requests.get(f"{url}/jobs/{job_id}", headers={"Prefer": "wait=3"}, timeout=5)
            assert (answer.status_code, "Preference-Applied" in answer.headers) == (202, False)
        assert wait_until(lambda: _opens(url, job_id), 25)  # At the next comment of their streams.


def _opens(url: str, job_id: str) -> bool:
    with requests.get(f"{url}/jobs/{job_id}/events", stream=True, timeout=5) as answer:
        return answer.status_code == 200


def test_a_stopping_process_waits_for_nobody_who_waits(
    shop: Shop,
    environment: dict[str, str],  # noqa: F811
) -> None:
    """Streams end in order, with a time to come back; held answers are given. A deployment is not delayed."""
    job_id = shop.call().json["id"]
    with ThreadPoolExecutor(2) as clients:
        with running_gunicorn({**environment, "REQUEST_WAIT_SECONDS": "25"}) as url:
            stream = requests.get(f"{url}/jobs/{job_id}/events", stream=True, timeout=30)
            chunks = stream.iter_content(None)
            assert b"retry: 3000" in next(chunks)
            rest = clients.submit(lambda: b"".join(chunks))
            held = clients.submit(
                requests.get, f"{url}/jobs/{job_id}", headers={"Prefer": "wait=25"}, timeout=30
            )
            assert wait_until(lambda: waiting_clients(url) == 2, 15)
            began = time.monotonic()
        assert time.monotonic() - began < 20
        assert rest.result().endswith(b"\n\n")
        assert b"retry: " in rest.result()
        assert held.result().status_code == 202


def test_a_stopping_process_finishes_the_calls_that_came_and_waits_for_no_idle_client(
    shop: Shop,
    environment: dict[str, str],  # noqa: F811
) -> None:
    """A call whose payment is being verified becomes a job; connections without a request are closed."""
    asked = threading.Event()

    def verify(body: Any) -> tuple[int, dict[str, bool]]:
        asked.set()
        time.sleep(2)
        return 200, {"isValid": True}

    shop.facilitator.verify = verify
    with ThreadPoolExecutor(1) as caller:
        with running_gunicorn(environment) as url, contextlib.ExitStack() as idle:
            for begun in (b"", b"GET / HTTP/1.1\r\nHos", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"):
                idle.enter_context(connections(url, 20, begun))
            call = caller.submit(paid, shop, url)
            assert asked.wait(10)
            began = time.monotonic()
        assert time.monotonic() - began < 15
        assert call.result().status_code == 202
