"""Streams and held answers through the server that is deployed: nobody who waits has a thread."""

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.integration.web.conftest import Shop
from tests.integration.web.test_gunicorn import environment  # noqa: F401
from tests.support.gunicorn import running_gunicorn
from tests.support.processes import wait_until
from tests.support.sse import Event, events

THREADS = 4
MANY = 40


@pytest.fixture(scope="module")
def url(environment: dict[str, str]) -> Iterator[str]:  # noqa: F811
    """Serve with four threads."""
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


def test_many_streams_and_held_answers_need_no_threads(shop: Shop, url: str) -> None:
    """Ten times as many as there are threads, all told at once, and others are served meanwhile."""
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
        assert wait_until(lambda: _opens(url, job_id), 15)


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
            assert wait_until(lambda: _waiting(url) == 2, 15)
            began = time.monotonic()
        assert time.monotonic() - began < 20
        assert rest.result().endswith(b"\n\n")
        assert b"retry: " in rest.result()
        assert held.result().status_code == 202


def _waiting(url: str) -> float:
    text = requests.get(f"{url}/metrics", timeout=5).text
    (line,) = (line for line in text.splitlines() if line.startswith("provider_http_waiting_clients"))
    return float(line.split()[-1])
