"""Clients and services that are slow hold up nobody, and have their time (the server that is deployed)."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.integration.web.conftest import Shop
from tests.integration.web.test_gunicorn import environment, paid  # noqa: F401
from tests.support.gunicorn import running_gunicorn
from tests.support.processes import family, wait_until
from tests.support.slow_clients import address, connections, p99_seconds, read_to_end, waiting_clients

PROBES = 150
HALF_HEAD = b"GET /services HTTP/1.1\r\nHost: x\r\nAccept: appl"
FLOOR_SECONDS = 0.25
"""What a busy machine may add; bench/README.md quotes what was measured, to be held below 0.1 s."""


@pytest.fixture(scope="module")
def url(environment: dict[str, str]) -> Iterator[str]:  # noqa: F811
    """Serve; tests share the process."""
    with running_gunicorn(environment) as url:
        yield url


def call_begun(shop: Shop, length: int, sent: bytes) -> bytes:
    """Begin a paid call whose body stays behind its length."""
    head = ["POST /run/echo HTTP/1.1", "Host: x", f"PAYMENT-SIGNATURE: {shop.pay()}"]
    return "\r\n".join([*head, f"Content-Length: {length}", "", ""]).encode() + sent


class Stuck:
    """A facilitator that answers nothing to the first calls."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.go = threading.Event()

    def verify(self, body: dict[str, Any]) -> tuple[int, dict[str, bool]]:
        self.count -= 1
        if self.count >= 0:
            self.go.wait(30)
        return 200, {"isValid": True}


def slow_calls(shop: Shop, url: str, stack: ExitStack) -> None:
    """Have twenty paid calls wait for a facilitator that answers nothing."""
    stuck = Stuck(20)
    shop.facilitator.verify = stuck.verify
    callers = stack.enter_context(ThreadPoolExecutor(20))
    stack.callback(stuck.go.set)
    for _ in range(20):
        callers.submit(paid, shop, url)
    assert wait_until(lambda: stuck.count == 0)


ATTACKS: dict[str, Callable[[Shop, str, ExitStack], Any]] = {
    "half heads": lambda shop, url, stack: stack.enter_context(connections(url, 400, HALF_HEAD)),
    "silence": lambda shop, url, stack: stack.enter_context(connections(url, 64, b"")),
    "stalled bodies": lambda shop, url, stack: stack.enter_context(
        connections(url, 16, call_begun(shop, 99, b'{"word":'))
    ),
    "a silent facilitator": slow_calls,
}


@pytest.mark.parametrize("names", [[name] for name in ATTACKS] + [list(ATTACKS)], ids=[*ATTACKS, "all"])
def test_others_are_served_meanwhile(shop: Shop, url: str, names: list[str]) -> None:
    """Red on sixteen threads: each attack stopped the process, for 10 s or for 20 s."""
    idle = p99_seconds(url, PROBES)
    with ExitStack() as stack:
        for name in names:
            ATTACKS[name](shop, url, stack)
        assert p99_seconds(url, PROBES) <= max(FLOOR_SECONDS, 5 * idle)
        assert paid(shop, url).status_code == 202


@pytest.fixture(scope="module")
def hasty_url(environment: dict[str, str]) -> Iterator[str]:  # noqa: F811
    """Serve with little patience."""
    with running_gunicorn({**environment, "WEB_READ_SECONDS": "2"}) as url:
        yield url


@pytest.mark.parametrize("part", ["nothing", "head", "body", "chunk"])
def test_a_request_that_does_not_arrive_is_closed(shop: Shop, hasty_url: str, part: str) -> None:
    """Also one that drips; and what is left of a body is never taken for the next request."""
    chunked = call_begun(shop, 0, b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    begun = {
        "nothing": b"",
        "head": HALF_HEAD,
        "body": call_begun(shop, 99, b'{"word":'),
        "chunk": chunked + b'ff\r\n{"word":',
    }[part]
    with connections(hasty_url, 1, begun) as clients:
        began = time.monotonic()
        dripping = threading.Thread(target=_drip, args=clients)
        dripping.start()
        answer = read_to_end(clients[0])
        assert 0.9 < time.monotonic() - began < 8
        dripping.join()
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert (b"invalid_body" in answer) == (part in ("body", "chunk"))
    assert shop.facilitator.asked == []


def _drip(client: Any) -> None:
    try:
        for _ in range(100):
            client.sendall(b" ")
            time.sleep(0.1)
    except OSError:
        return


def test_past_the_limit_new_connections_are_refused_at_once(environment: dict[str, str]) -> None:  # noqa: F811
    """Red: they hung until another one ended. With room again they are served."""
    with running_gunicorn({**environment, "WEB_STREAMS": "3"}) as url:
        with connections(url, 104, b""):
            began = time.monotonic()
            with connections(url, 20, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") as late:
                answers = [read_to_end(client) for client in late]
            assert time.monotonic() - began < 3
        head, _, body = answers[0].partition(b"\r\n\r\n")
        assert answers == [answers[0]] * 20
        assert head.startswith(b"HTTP/1.1 503 ")
        assert json.loads(body)["code"] == "connections_full"
        assert wait_until(lambda: _is_served(url), 10)


def _is_served(url: str) -> bool:
    return requests.get(f"{url}/healthz", timeout=5).ok


def test_large_bodies_have_room_of_their_own(shop: Shop, url: str) -> None:
    """Those that stall fill it; calls of the usual size are served, and large ones again later."""
    large = call_begun(shop, 1_000_000, b" " * 70_000)
    with connections(url, 64, large):
        time.sleep(0.5)
        body = b'{"word":"hi"}' + b" " * 100_000
        headers = {"PAYMENT-SIGNATURE": shop.pay()}
        refused = requests.post(f"{url}/run/echo", data=body, headers=headers, timeout=10)
        assert (refused.status_code, refused.json()["code"]) == (503, "bodies_full")
        assert paid(shop, url).status_code == 202
    assert wait_until(lambda: _takes(url, body, headers), 10)


def _takes(url: str, body: bytes, headers: dict[str, str]) -> bool:
    headers = {**headers, "Prefer": "respond-async"}
    return requests.post(f"{url}/run/echo", data=body, headers=headers, timeout=10).status_code == 202


def test_fifty_slow_streams_share_a_large_output(
    shop: Shop,
    environment: dict[str, str],  # noqa: F811
) -> None:
    """It is in memory once. Clients that take nothing are given up."""
    job_id = shop.call().json["id"]
    ask = f"GET /jobs/{job_id}/events HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with (
        running_gunicorn({**environment, "WEB_READ_SECONDS": "6"}) as url,
        connections(url, 50, ask, receive_bytes=4096),
    ):
        assert wait_until(lambda: waiting_clients(url) == 50)
        before = _megabytes(url)
        output = json.dumps({"said": "x" * 8_000_000})
        shop.worker.outcomes.output(shop.worker.start(job_id), output, {})
        shop.worker.settler.settle(job_id)
        time.sleep(2)
        assert _megabytes(url) - before < 200
        assert wait_until(lambda: waiting_clients(url) == 0, 30)


def _megabytes(url: str) -> float:
    """Add up what the processes have that listen on a port; they are children of this one."""
    port = str(address(url)[1])
    pids = [pid for pid in family(_own_pid()) if f"PORT={port}".encode() in _environ(pid)]
    return sum(_resident(pid) for pid in pids)


def _own_pid() -> int:
    return int(Path("/proc/self/stat").read_text().split()[0])


def _environ(pid: int) -> list[bytes]:
    with suppress(ProcessLookupError, FileNotFoundError):  # A process of another test may have ended since.
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def _resident(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
