"""Clients that are not ours buy from the whole platform, in both charge policies."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import requests
from stellar_sdk import Keypair

from provider.client import Buyer
from provider.client.x402_scheme import register_exact_stellar_client
from provider.localnet.demo.background import background_platform
from tests.interop.node import Node

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ON_SUCCESS = ("qr-code", {"text": "interop"})


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with background_platform(tmp_path_factory.mktemp("platform")) as told:
        yield told


@pytest.fixture
def node(npm: None, platform: dict[str, Any]) -> Node:
    secret = {"BUYER_SECRET": platform["buyer_secret"]}
    return Node(platform["rpc_url"], Path(platform["ca_file"]), secret)


@pytest.fixture
def upfront(platform: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The example of the service that is paid before it works."""
    services = requests.get(f"{platform['web_url']}/services", timeout=10).json()["services"]
    found = next(service for service in services if service["charge"] == "upfront")
    return found["name"], found["example"]["input"]


def url_of(platform: dict[str, Any], service: str) -> str:
    return f"{platform['web_url']}/run/{service}"


def balance(platform: dict[str, Any]) -> int:
    """What the seller holds on chain, in atomic units."""
    state = requests.get(f"{platform['rpc_url']}/admin/state", timeout=10).json()
    return int(state["balances"].get(platform["payTo"], 0))


def test_the_official_client_buys_a_job_that_is_charged_on_success(
    platform: dict[str, Any], node: Node
) -> None:
    before, (service, body) = balance(platform), ON_SUCCESS
    bought = node.run("buy.mjs", url_of(platform, service), json.dumps(body))
    last = bought["seen"][-1]
    assert (last["status"], last["body"]["status"]) == (200, "succeeded")
    assert last["receipt"]["success"] is True
    assert [request["paid"] for request in bought["requests"]] == [False, True]
    assert balance(platform) - before == int(last["body"]["payment"]["amount"])


def test_the_official_client_buys_with_the_input_in_the_query(platform: dict[str, Any], node: Node) -> None:
    bought = node.run("buy.mjs", url_of(platform, "qr-code") + "?text=interop")
    assert bought["seen"][-1]["body"]["status"] == "succeeded"


def test_the_official_client_pays_upfront_once_and_follows_the_job(
    platform: dict[str, Any], node: Node, upfront: tuple[str, dict[str, Any]]
) -> None:
    before, (service, body) = balance(platform), upfront
    bought = node.run("buy.mjs", url_of(platform, service), json.dumps(body))
    first, last = bought["seen"][0], bought["seen"][-1]
    assert first["receipt"]["success"] is True
    assert last["body"]["status"] == "succeeded"
    assert balance(platform) - before == int(last["body"]["payment"]["amount"])


def test_the_python_client_pays_with_our_scheme(platform: dict[str, Any]) -> None:
    x402 = pytest.importorskip("x402")
    http = pytest.importorskip("x402.http.clients.requests")
    before, (service, body) = balance(platform), ON_SUCCESS
    client = register_exact_stellar_client(
        x402.x402ClientSync(),
        Keypair.from_secret(platform["buyer_secret"]),
        rpc_url=platform["rpc_url"],
        ledger_seconds=platform["ledger_seconds"],
    )
    with http.x402_requests(client) as session:
        answer = session.post(url_of(platform, service), json=body, timeout=60)
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
    assert balance(platform) - before == int(answer.json()["payment"]["amount"])


def test_our_buyer_buys_in_both_policies(
    platform: dict[str, Any], upfront: tuple[str, dict[str, Any]]
) -> None:
    buyer = Buyer(
        Keypair.from_secret(platform["buyer_secret"]),
        platform["rpc_url"],
        ledger_seconds=platform["ledger_seconds"],
        max_price=Decimal(1),
    )
    for service, body in (ON_SUCCESS, upfront):
        purchase = buyer.buy(url_of(platform, service), body)
        assert purchase.succeeded
        assert purchase.transaction
