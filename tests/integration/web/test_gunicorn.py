"""The same through the server that is deployed: headers, bodies, threads, signals."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.integration.web.conftest import PAY_TO, Shop
from tests.support.facilitator import FakeFacilitator
from tests.support.gunicorn import running_gunicorn
from tests.support.processes import wait_until
from tests.support.redis_server import RedisServer


@pytest.fixture(scope="module")
def environment(shared_redis: RedisServer, shared_facilitator: FakeFacilitator) -> dict[str, str]:
    """Configure a web process."""
    return {
        "PROVIDER_SERVICES": "tests.integration.web.selling",
        "PAY_TO": PAY_TO,
        "REDIS_URL": shared_redis.url,
        "BROKER_URL": "memory://",
        "FACILITATOR_URL": shared_facilitator.url,
        "REQUEST_WAIT_SECONDS": "3",
        "REDIS_TIMEOUT_SECONDS": "0.5",
    }


@pytest.fixture(scope="module")
def url(environment: dict[str, str]) -> Iterator[str]:
    """Serve, and give the URL; tests share the process as buyers do."""
    with running_gunicorn(environment) as url:
        yield url


def paid(shop: Shop, url: str, **sent: Any) -> requests.Response:
    headers = {"PAYMENT-SIGNATURE": shop.pay(), "Prefer": "respond-async"} | sent.pop("headers", {})
    return requests.post(f"{url}/run/echo", json={"word": "hi"}, headers=headers, timeout=10, **sent)


def test_a_paid_call_works_through_the_real_server(shop: Shop, url: str) -> None:
    """From the challenge to the output, the worker being another process."""
    assert requests.post(f"{url}/run/echo", timeout=10).status_code == 402
    job_id = paid(shop, url).json()["id"]
    threading.Timer(0.3, shop.worker.finish, (job_id,)).start()
    answer = requests.get(f"{url}/jobs/{job_id}", headers={"Prefer": "wait=3"}, timeout=10)
    assert (answer.status_code, answer.json()["output"]) == (200, {"said": "hi"})


@pytest.mark.parametrize(("size", "code"), [(16_000, 400), (17_000, 400), (30_000, 400)])
def test_large_payment_headers_reach_the_application(url: str, size: int, code: int) -> None:
    """gunicorn's own limit is 8190 bytes and its answer no problem+json."""
    answer = requests.post(f"{url}/run/echo", headers={"PAYMENT-SIGNATURE": "x" * size}, timeout=10)
    assert (answer.status_code, answer.json()["code"]) == (code, "invalid_payment_header")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_huge_body_is_refused_and_the_server_lives_on(shop: Shop, url: str, chunked: bool) -> None:
    """With a payment it is 413; chunked bodies are counted as they come."""
    body = b'{"word":"hi"}' + b" " * 3_000_000
    headers = {"PAYMENT-SIGNATURE": shop.pay()}
    sent: Any = iter([body]) if chunked else body
    answer = requests.post(f"{url}/run/echo", data=sent, headers=headers, timeout=10)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert requests.post(f"{url}/run/echo", data=body, timeout=10).status_code == 402


def test_a_chunked_body_is_read(shop: Shop, url: str) -> None:
    """Not every client knows its length beforehand."""
    headers = {"PAYMENT-SIGNATURE": shop.pay(), "Prefer": "respond-async"}
    answer = requests.post(f"{url}/run/echo", data=iter([b'{"word":', b'"hi"}']), headers=headers, timeout=10)
    assert answer.status_code == 202


def test_a_body_that_ends_early_is_no_call(shop: Shop, url: str) -> None:
    """A broken connection must not become a paid call with half an input."""
    lines = ["POST /run/echo HTTP/1.1", "Host: x", f"PAYMENT-SIGNATURE: {shop.pay()}", "Content-Length: 99"]
    head = "\r\n".join([*lines, "", '{"word":"hi"}'])
    with socket.create_connection(("127.0.0.1", urlsplit(url).port or 0)) as connection:
        connection.sendall(head.encode())
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    assert b"invalid_body" in answer
    assert shop.facilitator.asked == []


@pytest.mark.parametrize("part", ["headers", "body"])
def test_clients_that_never_finish_their_request_take_no_thread_for_good(
    shop: Shop, environment: dict[str, str], part: str
) -> None:
    """Each that vanished without a word would cost one, until none is left to take a payment."""
    rest = f"PAYMENT-SIGNATURE: {shop.pay()}\r\nContent-Length: 9\r\n\r\n{{" if part == "body" else ""
    begun = f"POST /run/echo HTTP/1.1\r\nHost: x\r\n{rest}".encode()
    with running_gunicorn({**environment, "WEB_READ_SECONDS": "1"}) as url, contextlib.ExitStack() as silent:
        for _ in range(8):
            client = silent.enter_context(socket.create_connection(_address(url)))
            client.sendall(begun)
        assert requests.get(f"{url}/healthz", timeout=4).ok


def test_clients_that_had_their_last_answer_and_stay_hold_up_nobody(url: str) -> None:
    """They do not close their side. The server does, in time, and serves others meanwhile."""
    with contextlib.ExitStack() as stay:
        clients = [stay.enter_context(socket.create_connection(_address(url), timeout=10)) for _ in range(3)]
        for client in clients:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert client.recv(20).startswith(b"HTTP/1.1 200")
        assert requests.get(f"{url}/healthz", timeout=5).ok
        assert wait_until(lambda: all(map(_is_closed, clients)), 10)


def _is_closed(client: socket.socket) -> bool:
    """Tell whether the other side hears nobody out any more: it resets what is still sent."""
    try:
        client.sendall(b"x")
    except OSError:
        return True
    return False


def test_an_answer_nobody_takes_is_given_up(environment: dict[str, str]) -> None:
    """The same for a client that vanished while its answer was on the way."""
    ask = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    with running_gunicorn({**environment, "WEB_READ_SECONDS": "1"}) as url, contextlib.ExitStack() as silent:
        for _ in range(4):
            client = silent.enter_context(socket.create_connection(_address(url)))
            client.sendall(ask * 2000)
        time.sleep(0.5)
        assert requests.get(f"{url}/healthz", timeout=4).ok


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def test_the_facilitator_is_timed(shop: Shop, url: str) -> None:
    """Its `/verify`, which only the web process calls (standard §14)."""
    name = "provider_facilitator_verify_seconds_count"
    before = requests.get(f"{url}/metrics", timeout=10).text
    assert paid(shop, url).status_code == 202
    assert f"{name} 0.0" not in requests.get(f"{url}/metrics", timeout=10).text
    assert name in before


def test_health_answers_while_every_waiting_place_is_taken(shop: Shop, url: str) -> None:
    """Held calls may not use up the server."""
    job_id = paid(shop, url).json()["id"]
    held = [threading.Thread(target=_hold, args=(url, job_id)) for _ in range(8)]
    for thread in held:
        thread.start()
    time.sleep(0.5)
    began = time.monotonic()
    assert requests.get(f"{url}/healthz", timeout=10).ok
    assert time.monotonic() - began < 0.5
    for thread in held:
        thread.join()


def test_a_paid_call_is_taken_though_the_broker_is_away(
    shop: Shop, environment: dict[str, str], unreachable: str
) -> None:
    """A wake-up that was not published is the sweep's business (C1)."""
    with running_gunicorn({**environment, "BROKER_URL": unreachable}) as url:
        began = time.monotonic()
        assert paid(shop, url).status_code == 202
        assert time.monotonic() - began < 8


def test_redis_may_go_and_come_back(
    make_shop: Callable[..., Shop], environment: dict[str, str], own_redis: RedisServer
) -> None:
    """503 quickly while it is away, and no restart afterwards (C5)."""
    shop = make_shop(own_redis.url)
    with running_gunicorn({**environment, "REDIS_URL": own_redis.url}) as url:
        own_redis.kill()
        began = time.monotonic()
        assert paid(shop, url).status_code == 503
        assert time.monotonic() - began < 2
        own_redis.start()
        assert paid(shop, url).status_code == 202


def test_two_processes_count_their_requests_together(environment: dict[str, str]) -> None:
    """Otherwise each scrape would show another process."""
    counted = 'provider_http_request_seconds_count{method="POST",route="/run/<name>",status="402"}'
    with running_gunicorn({**environment, "WEB_PROCESSES": "2"}) as url, ThreadPoolExecutor(8) as buyers:
        for done in range(20, 120, 20):
            list(buyers.map(lambda _: requests.post(f"{url}/run/echo", timeout=10), range(20)))
            scrapes = list(buyers.map(lambda _: requests.get(f"{url}/metrics", timeout=10).text, range(8)))
            assert all(f"{counted} {done}.0" in text for text in scrapes)
            time.sleep(1)  # The second process may still be starting in the first rounds.


@pytest.fixture
def unreachable() -> str:
    """Give a broker URL where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"redis://127.0.0.1:{probe.getsockname()[1]}/0"


def _hold(url: str, job_id: str) -> None:
    requests.get(f"{url}/jobs/{job_id}", headers={"Prefer": "wait=2"}, timeout=10)


def raw(url: str, sent: bytes) -> tuple[bytes, bytes]:
    """Send bytes as they are; give head and body of what comes back."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port or 80), timeout=10) as connection:
        connection.sendall(sent)
        with connection.makefile("rb") as answer:
            head = b"".join(iter(answer.readline, b"\r\n")).lower()
            return head, answer.read(int(head.partition(b"content-length: ")[2].partition(b"\r")[0]))


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST /run/echo HTTP/1.1\r\nHost: x\r\n%bTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"GET /%b" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: %b" + b"x" * 80_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n%b\r\n", 417),
        (b"%b\x00\r\n\r\n", 400),
    ],
)
def test_what_the_server_itself_refuses_is_a_problem(shop: Shop, url: str, sent: bytes, status: int) -> None:
    """H6, H7. Red before: bad chunks were 500, the rest pages of gunicorn's that no page could read."""
    paid = f"PAYMENT-SIGNATURE: {shop.pay()}\r\n".encode() if b"chunked" in sent else b""
    head, body = raw(url, sent.replace(b"%b", paid))
    assert head.startswith(b"http/1.1 %d " % status)
    for line in (b"application/problem+json", b"access-control-allow-origin: *", b"connection: close"):
        assert line in head
    assert json.loads(body)["status"] == status


def test_a_body_that_is_left_unread_ends_its_connection(url: str) -> None:
    """Red before: the answer said keep-alive, and the connection was closed all the same."""
    for size, ends in ((60_000, b"keep-alive"), (70_000, b"close")):
        sent = b"POST /run/echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
        head, _ = raw(url, sent + b"x" * (size - 1))
        assert head.startswith(b"http/1.1 402 ")
        assert b"connection: " + ends in head
