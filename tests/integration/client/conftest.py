"""A local network, a seller that answers what it is told to, and a buyer whose time is the test's."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from provider.client import AsyncBuyer, Buyer
from tests.support.localnet import LocalNet, running_localnet
from tests.support.seller import Seller, running_seller


class FakeTime:
    """A clock that moves on by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)

    def clock(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def net() -> Iterator[LocalNet]:
    with running_localnet(manual=True) as network:
        yield network


@pytest.fixture
def seller(net: LocalNet) -> Iterator[Seller]:
    with running_seller() as server:
        server.offer(net.requirements())
        yield server


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


class InThisThread:
    """Calls an asynchronous buyer as if it were none, in an event loop of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, buyer: AsyncBuyer) -> None:
        self._loop, self._buyer = loop, buyer

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._buyer, name)
        if not asyncio.iscoroutinefunction(found):
            return found
        call: Callable[..., Awaitable[Any]] = found
        return lambda *args, **options: self._loop.run_until_complete(call(*args, **options))


MakeBuyer = Callable[..., Any]
"""Makes a buyer on the network, with the test's time."""


@pytest.fixture(params=["sync", "async"])
def make_buyer(net: LocalNet, time: FakeTime, request: pytest.FixtureRequest) -> Iterator[MakeBuyer]:
    """Both buyers go through the same steps; each is held to all that is said of one."""

    async def sleep(seconds: float) -> None:
        time.sleep(seconds)

    with asyncio.Runner() as runner:
        made: list[AsyncBuyer] = []

        def make(**options: Any) -> Any:
            if request.param == "sync":
                return Buyer(net.buyer, net.chain.url, sleep=time.sleep, clock=time.clock, **options)
            made.append(AsyncBuyer(net.buyer, net.chain.url, sleep=sleep, clock=time.clock, **options))
            return InThisThread(runner.get_loop(), made[-1])

        yield make
        for buyer in made:
            runner.run(buyer.aclose())


@pytest.fixture
def buyer(make_buyer: MakeBuyer) -> Any:
    return make_buyer()
