"""Clients that are not ours buy from the whole platform, in both charge policies."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import requests
from stellar_sdk import Keypair

from provider.client import AsyncBuyer, Buyer, Delivery
from provider.client.x402_scheme import register_exact_stellar_client
from tests.interop.node import Node

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ON_SUCCESS = ("qr-code", {"text": "interop"})


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


def call_with_requests(platform: dict[str, Any], url: str, body: Any) -> tuple[int, Any]:
    x402, http = pytest.importorskip("x402"), pytest.importorskip("x402.http.clients.requests")
    with http.x402_requests(registered(x402.x402ClientSync(), platform)) as session:
        answer = session.post(url, json=body, timeout=60)
    return answer.status_code, answer.json()


def call_with_httpx(platform: dict[str, Any], url: str, body: Any) -> tuple[int, Any]:
    x402, http = pytest.importorskip("x402"), pytest.importorskip("x402.http.clients.httpx")

    async def call() -> tuple[int, Any]:
        async with http.x402HttpxClient(registered(x402.x402Client(), platform), timeout=60) as session:
            answer = await session.post(url, json=body)
        return answer.status_code, answer.json()

    return asyncio.run(call())


def registered(client: Any, platform: dict[str, Any]) -> Any:
    """Lend our scheme to a client of the package; it measures the ledgers itself."""
    keypair = Keypair.from_secret(platform["buyer_secret"])
    return register_exact_stellar_client(client, keypair, rpc_url=platform["rpc_url"])


@pytest.mark.parametrize("call", [call_with_requests, call_with_httpx], ids=["requests", "httpx"])
def test_the_python_clients_pay_with_our_scheme(
    platform: dict[str, Any], upfront: tuple[str, dict[str, Any]], call: Any
) -> None:
    """Upfront they give the 202 to their caller, who looks the job up."""
    for (service, body), expected in ((ON_SUCCESS, 200), (upfront, 202)):
        before = balance(platform)
        status, job = call(platform, url_of(platform, service), body)
        assert status == expected
        while job["status"] != "succeeded":
            job_url = f"{platform['web_url']}/jobs/{job['id']}"
            job = requests.get(job_url, headers={"Prefer": "wait=20"}, timeout=60).json()
        assert balance(platform) - before == int(job["payment"]["amount"])


def sync_buyer(platform: dict[str, Any], url: str, body: Any) -> Delivery:
    return Buyer(Keypair.from_secret(platform["buyer_secret"]), platform["rpc_url"]).buy(url, body)


def async_buyer(platform: dict[str, Any], url: str, body: Any) -> Delivery:
    async def buy() -> Delivery:
        keypair = Keypair.from_secret(platform["buyer_secret"])
        async with AsyncBuyer(keypair, platform["rpc_url"]) as buyer:
            return await buyer.buy(url, body)

    return asyncio.run(buy())


@pytest.mark.parametrize("buy", [sync_buyer, async_buyer])
def test_our_buyers_buy_in_both_policies(
    platform: dict[str, Any], upfront: tuple[str, dict[str, Any]], buy: Any
) -> None:
    for service, body in (ON_SUCCESS, upfront):
        before = balance(platform)
        bought = buy(platform, url_of(platform, service), body)
        assert bought.job["status"] == "succeeded"
        assert bought.verified
        assert balance(platform) - before == bought.payment.amount
