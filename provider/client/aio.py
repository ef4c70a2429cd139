"""The asynchronous buyer: the same steps over httpx, which the extra `provider[async]` installs.

HTTP and pauses are asyncio's own, so that a cancelled task stops asking at once and a thousand waiting
purchases take no threads. What blocks for a moment (the chain, the journal) runs in a thread.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

import httpx
from stellar_sdk import Keypair

from provider.bounded_http import CONNECT_TIMEOUT_SECONDS
from provider.client.buyer import WAIT_SECONDS, Amount, Till
from provider.client.delivery import Delivery
from provider.client.errors import BuyerError
from provider.client.exchange import Consent, Effect, HttpReply, HttpRequest, Lost, Pause, Steps, Work
from provider.client.http import USER_AGENT, listener
from provider.client.payment import Payment
from provider.client.pursuit import OnProgress
from provider.client.signer import Signer

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[Any]]


class AsyncDriver:
    """Does what the steps of a purchase ask for, in an event loop."""

    def __init__(self, client: httpx.AsyncClient, sleep: Sleep = asyncio.sleep) -> None:
        self._client, self._sleep = client, sleep

    async def run(self, steps: Steps[T]) -> T:
        """Run steps to their end."""
        step: Callable[[], Effect] = partial(next, steps)
        while True:
            try:
                effect = step()
            except StopIteration as end:
                result: T = end.value
                return result
            step = await self._resumed(steps, effect)

    async def _resumed(self, steps: Steps[T], effect: Effect) -> Callable[[], Effect]:
        try:
            result = await self._perform(effect)
        except Exception as error:
            return partial(steps.throw, error)
        return partial(steps.send, result)

    async def _perform(self, effect: Effect) -> Any:
        match effect:
            case HttpRequest():
                return await self.send(effect)
            case Pause(seconds):
                return await self._sleep(seconds)
            case Work(run):
                return await asyncio.to_thread(run)
            case Consent(ask):
                answer = ask()
                return await answer if inspect.isawaitable(answer) else answer

    async def send(self, request: HttpRequest) -> HttpReply | Lost:
        """Send one request and read its answer; what fails is part of the result."""
        ends_at = asyncio.get_running_loop().time() + request.seconds
        try:
            async with asyncio.timeout_at(ends_at):
                response = await self._open(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return Lost(type(error).__name__, sent=False)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
            return Lost(type(error).__name__)
        try:
            return await _read(response, request, ends_at)
        finally:
            await response.aclose()

    async def _open(self, request: HttpRequest) -> httpx.Response:
        """Redirects are not followed: a payment is for the service that was named."""
        built = self._client.build_request(
            request.method,
            request.url,
            headers=dict(request.headers),
            content=request.body,
            timeout=httpx.Timeout(request.pause_seconds, connect=CONNECT_TIMEOUT_SECONDS),
        )
        return await self._client.send(built, stream=True, follow_redirects=False)


async def _read(response: httpx.Response, request: HttpRequest, ends_at: float) -> HttpReply:
    """Read what there is of an answer; one that breaks off is kept as far as it came."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    content, complete = b"", True
    hear = listener(request, response.status_code, headers)
    try:
        async with asyncio.timeout_at(ends_at):
            async for piece in response.aiter_bytes():
                if hear is not None and hear(piece):
                    break
                content += b"" if hear is not None else piece
                if len(content) > request.most_bytes:
                    raise OSError("the answer is too large")
    except (httpx.HTTPError, TimeoutError, OSError, ValueError):
        complete = False
    return HttpReply(response.status_code, headers, content, complete)


class AsyncBuyer(Till):
    """Buys from one account. Tasks may share a buyer; it belongs to one event loop."""

    def __init__(
        self,
        payer: Keypair | Signer,
        rpc: str,
        *,
        client: httpx.AsyncClient | None = None,
        sleep: Sleep = asyncio.sleep,
        **options: Any,
    ) -> None:
        """Take the options of `Till`; `client` reaches sellers in a way of your own."""
        super().__init__(payer, rpc, **options)
        self._client = client or httpx.AsyncClient(headers={"User-Agent": USER_AGENT})
        self._driver = AsyncDriver(self._client, sleep)

    async def buy(
        self,
        url: str,
        input: Any = None,  # noqa: A002  As in `Buyer.buy`.
        *,
        max_price: Amount | None = None,
        method: str | None = None,
        wait: float = WAIT_SECONDS,
        on_progress: OnProgress | None = None,
    ) -> Delivery:
        """Do what `Buyer.buy` does."""
        return await self._driver.run(self._buying((url, input, method, max_price), wait, on_progress))

    async def resume(
        self, payment: Payment, *, wait: float = WAIT_SECONDS, on_progress: OnProgress | None = None
    ) -> Delivery:
        """Do what `Buyer.resume` does."""
        return await self._driver.run(self._resuming(payment, wait, on_progress))

    async def resume_all(self, *, wait: float = WAIT_SECONDS) -> AsyncIterator[Delivery | BuyerError]:
        """Do what `Buyer.resume_all` does."""
        for payment in self.open_payments():
            try:
                yield await self.resume(payment, wait=wait)
            except BuyerError as error:
                yield error

    async def aclose(self) -> None:
        """Close the connections to sellers."""
        await self._client.aclose()

    async def __aenter__(self) -> "AsyncBuyer":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()
