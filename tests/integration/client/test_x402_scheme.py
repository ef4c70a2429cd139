"""The scheme that the PyPI `x402` client lacks, in its clients for requests and for httpx."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from provider.client.x402_scheme import ExactStellarScheme, register_exact_stellar_client
from provider.networks import PUBNET, TESTNET, USDC
from provider.payments.headers import decode_object
from tests.support.localnet import PRICE, LocalNet, running_localnet
from tests.support.seller import Seller, settled

x402 = pytest.importorskip("x402")
for_requests = pytest.importorskip("x402.http.clients.requests")
for_httpx = pytest.importorskip("x402.http.clients.httpx")
pytest.importorskip("x402.http.middleware.flask")

from tests.support.stranger_seller import running_stranger  # noqa: E402

DECLARED = {"payment-identifier": {"info": {"required": True}, "schema": {"type": "object"}}}


def call_with_requests(url: str, net: LocalNet, **options: Any) -> Any:
    client = x402.x402ClientSync()
    register_exact_stellar_client(client, net.buyer, rpc_url=net.chain.url, **options)
    with for_requests.x402_requests(client) as session:
        return session.post(url, json={"text": "hi"}, timeout=60)


def call_with_httpx(url: str, net: LocalNet, **options: Any) -> Any:
    client = x402.x402Client()
    register_exact_stellar_client(client, net.buyer, rpc_url=net.chain.url, **options)

    async def call() -> Any:
        async with for_httpx.x402HttpxClient(client, timeout=60) as session:
            return await session.post(url, json={"text": "hi"})

    return asyncio.run(call())


BOTH = pytest.mark.parametrize("call", [call_with_requests, call_with_httpx], ids=["requests", "httpx"])


@pytest.fixture(scope="module")
def quick() -> Iterator[LocalNet]:
    with running_localnet(close_seconds=0.2) as network:
        yield network


@BOTH
@pytest.mark.parametrize("path", ["/weather", "/upfront"])
def test_the_packages_own_clients_pay_on_stellar(quick: LocalNet, call: Any, path: str) -> None:
    before = quick.received
    with running_stranger(quick) as stranger:
        answer = call(stranger.url + path, quick, ledger_seconds=5)
    assert (answer.status_code, quick.received - before) == (200, PRICE)


@BOTH
def test_a_payment_is_named_where_the_seller_declares_it(net: LocalNet, seller: Seller, call: Any) -> None:
    """Red before: a seller that requires an identifier refused every payment of this client."""
    seller.offer(net.requirements(), extensions={**DECLARED, "bazaar": {"info": {}}})
    seller.paid = [(200, settled(), {})]
    assert call(f"{seller.url}/run/x", net).status_code == 200
    sent = decode_object(seller.payments[0])["extensions"]
    identifier = sent["payment-identifier"]["info"].pop("id")
    assert sent == {**DECLARED, "bazaar": {"info": {}}}
    assert (identifier[:4], len(identifier)) == ("pay_", 36)


@BOTH
def test_a_seller_that_declares_no_identifier_gets_none(net: LocalNet, seller: Seller, call: Any) -> None:
    seller.paid = [(200, settled(), {})]
    assert call(f"{seller.url}/run/x", net).status_code == 200
    assert decode_object(seller.payments[0]).get("extensions") in (None, {})


@BOTH
def test_the_packages_spend_controls_hold_usdc_to_their_cap(net: LocalNet, seller: Seller, call: Any) -> None:
    """Unless it knows the token, the package refuses all of them."""
    seller.offer(net.requirements(10_000_001))
    with pytest.raises(Exception, match="max_amount_per_payment"):
        call(f"{seller.url}/run/x", net)
    assert seller.payments == []


@pytest.mark.parametrize("network", [TESTNET, PUBNET])
def test_usdc_is_known_and_nothing_else(network: str) -> None:
    known = ExactStellarScheme.find_default_asset(USDC[network], network)
    assert known == {"asset": USDC[network], "decimals": 7, "symbol": "USDC"}
    other = PUBNET if network == TESTNET else TESTNET
    assert ExactStellarScheme.find_default_asset(USDC[other], network) is None
