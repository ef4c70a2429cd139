"""One payment is shown to two shops that are paid to one account (issue 9.3)."""

from collections.abc import Iterator

import pytest

from provider.chain.rpc import StellarRpc
from provider.doctor.finding import Level
from provider.doctor.payee import check_store
from provider.jobs.reconcile.unknown import unknown_payments
from provider.jobs.store.client import connect
from provider.jobs.store.jobs import JobStore
from provider.platform import Platform
from provider.settings import Settings
from tests.support.jobs import Wakeups, selling
from tests.support.localnet import LocalNet, running_localnet
from tests.support.redis_server import RedisServer


@pytest.fixture
def net() -> Iterator[LocalNet]:
    with running_localnet(ledger_seconds=0.2) as net:
        yield net


def shop(net: LocalNet, redis_url: str) -> Platform:
    settings = Settings(
        redis_url=redis_url,
        pay_to=net.seller.public_key,
        asset=net.state.config.token.contract,
        facilitator_url=net.facilitator.url,
        stellar_rpc_urls=(net.chain.url,),
    )
    return Platform(settings, selling("after"), dispatcher=Wakeups())


def test_payments_of_another_store_are_listed(net: LocalNet, redis_url: str, own_redis: RedisServer) -> None:
    """Red before: both sold, the payee got one price, and nothing showed it."""
    here, there = shop(net, redis_url), shop(net, own_redis.url)
    service = here.registry.get("after")
    rpc, pay_to, asset = StellarRpc(net.chain.url), here.settings.pay_to, here.settings.asset
    job = here.desk.call(service, dict, net.payment(here.desk.quote(service), ledger_seconds=0.22))
    here.runner.run_next("after")
    here.settler.settle(job.id)
    receipt = here.store.get(job.id).receipt
    assert receipt is not None
    assert unknown_payments(rpc, here.store, pay_to, asset) == []
    assert check_store(rpc, here.store, pay_to, asset).level is Level.OK
    assert unknown_payments(rpc, there.store, pay_to, asset) == [receipt.transaction]
    found = check_store(rpc, there.store, pay_to, asset)
    assert (found.level, receipt.transaction in found.seen) == (Level.ADVICE, True)


def test_without_redis_or_rpc_nothing_is_claimed(net: LocalNet) -> None:
    """An examination goes on."""
    store = JobStore(connect("redis://127.0.0.1:9/0"))
    net.payment()
    rpc = StellarRpc("http://127.0.0.1:9")
    assert check_store(rpc, store, net.seller.public_key, "C").level is Level.SKIPPED
