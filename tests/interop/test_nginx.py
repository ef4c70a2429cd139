"""The official client buys through Debian's nginx as it is installed (standard H1)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.interop.node import Node
from tests.support.nginx import running_nginx

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def url(platform: dict[str, Any], tmp_path: Path) -> Iterator[str]:
    """The platform behind nginx."""
    with running_nginx(tmp_path, platform["web_url"]) as front:
        yield front


def head_bytes(answer: requests.Response) -> int:
    """Count what a proxy has to keep: the status line and each header."""
    lines = (len(f"{name}: {value}\r\n") for name, value in answer.headers.items())
    return len(f"HTTP/1.1 {answer.status_code} {answer.reason}\r\n\r\n") + sum(lines)


@pytest.fixture
def largest(url: str, platform: dict[str, Any]) -> dict[str, Any]:
    """The service of the largest challenge; all of them fit."""
    services = requests.get(f"{url}/services", timeout=10).json()["services"]
    sizes = {}
    for number, service in enumerate(services):
        for method in ("GET", "POST"):
            path = f"/run/{service['name']}"
            assert requests.request(method, url + path, timeout=10).status_code == 402
            sizes[number] = head_bytes(requests.request(method, platform["web_url"] + path, timeout=10))
            assert sizes[number] < 4000
    found: dict[str, Any] = services[max(sizes, key=lambda number: sizes[number])]
    return found


def test_a_stock_nginx_passes_challenge_and_payment(
    url: str, platform: dict[str, Any], npm: None, largest: dict[str, Any]
) -> None:
    """Red before: nginx answered 502 to heads above 4 096 bytes, the examples' own among them."""
    node = Node(platform["rpc_url"], Path(platform["ca_file"]), {"BUYER_SECRET": platform["buyer_secret"]})
    bought = node.run("buy.mjs", f"{url}/run/{largest['name']}", json.dumps(largest["example"]["input"]))
    last = bought["seen"][-1]
    assert (last["status"], last["body"]["status"]) == (200, "succeeded")
    assert [request["paid"] for request in bought["requests"]] == [False, True]
    assert 2000 < bought["requests"][1]["size"] < 8000
