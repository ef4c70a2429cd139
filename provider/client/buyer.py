"""Buy calls from any seller on x402 and Stellar, each with one payment that is never signed twice.

buyer = Buyer(keypair, "https://soroban-testnet.stellar.org", journal="payments.jsonl")
bought = buyer.buy("https://seller.example/run/x", {"text": "hello"}, max_price="0.05")
print(bought.output, bought.receipt)
"""

import os
import time
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from typing import Any

import requests
from stellar_sdk import Keypair

from provider.client import steps
from provider.client.delivery import Delivery
from provider.client.errors import BuyerError
from provider.client.exchange import Steps
from provider.client.http import HttpDriver
from provider.client.journal import Journal
from provider.client.limits import Limits, origin_of
from provider.client.patience import Patience
from provider.client.payment import Payment
from provider.client.pursuit import OnProgress, body_of
from provider.client.signer import Signer
from provider.client.wallet import Wallet, Wanted
from provider.networks import PASSPHRASES, TESTNET

WAIT_SECONDS = 120.0

FilePath = str | os.PathLike[str]
Amount = Decimal | str | int
CallToBuy = tuple[str, Any, str | None, Amount | None]
"""URL, input, method, the most that it may cost."""


class Till:
    """What synchronous and asynchronous buyers have in common: the wallet, and the steps of a purchase."""

    def __init__(
        self,
        payer: Keypair | Signer,
        rpc: str,
        *,
        network: str = TESTNET,
        journal: Journal | FilePath | None = None,
        limits: Limits | None = None,
        receipts: FilePath | None = None,
        assets: Collection[str] = (),
        ledger_seconds: float | None = None,
        credentials: str = "v1",
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Pay from one account on one network.

        Args:
            payer: a key pair, or a `Signer` for keys kept elsewhere and for contract wallets.
            rpc: URL of a Stellar RPC of that network: it prices the signature and shows the receipts.
            network: `stellar:testnet`, or `stellar:pubnet` for real money.
            journal: file of the payments; without one nothing is left of them once the process ends.
            limits: at most 1 USDC a call unless they say otherwise.
            receipts: file to which each purchase adds a line of JSON, the answer included.
            assets: token contracts that may be paid with, instead of USDC.
            ledger_seconds: what a ledger is taken for. None: measured and rounded up (facts A5.10).
            credentials: `v1`, or `v2` for facilitators that know CAP-71.
        """
        if network not in PASSPHRASES:
            raise ValueError(f"{network!r} is none of {', '.join(PASSPHRASES)}")
        self.journal = journal if isinstance(journal, Journal) else Journal(journal)
        self.limits = limits or Limits()
        self._clock = clock
        self._wallet = Wallet(
            Signer.of(payer),
            rpc,
            journal=self.journal,
            limits=self.limits,
            network=network,
            assets=assets,
            ledger_seconds=ledger_seconds,
            credentials=credentials,
            receipts=receipts,
            now=now,
        )

    def open_payments(self) -> list[Payment]:
        """List the payments of the journal whose purchase has no end yet: a crash, or time was up."""
        return self.journal.open_payments()

    def _buying(self, call: CallToBuy, wait: float, on_progress: OnProgress | None) -> Steps[Delivery]:
        url, value, method, max_price = call
        origin_of(url)
        method = (method or ("GET" if value is None else "POST")).upper()
        body_of(method, value)  # What is no JSON is found out here, as a ValueError or TypeError.
        wanted = Wanted(method, url, value, self.limits.most(max_price))
        return steps.buy(wanted, self._wallet, Patience(wait, self._clock), on_progress)

    def _resuming(self, payment: Payment, wait: float, on_progress: OnProgress | None) -> Steps[Delivery]:
        known = self.journal.find(payment.id)
        return steps.resume(payment, known, self._wallet, Patience(wait, self._clock), on_progress)


class Buyer(Till):
    """Buys from one account, in the thread that calls it. Threads may share a buyer."""

    def __init__(
        self,
        payer: Keypair | Signer,
        rpc: str,
        *,
        session: requests.Session | None = None,
        sleep: Callable[[float], None] = time.sleep,
        **options: Any,
    ) -> None:
        """Take the options of `Till`.

        Args:
            session: to reach sellers in a way of your own; its requests then end after the usual time-outs of
                requests, without a total.
        """
        super().__init__(payer, rpc, **options)
        self._driver = HttpDriver(session, sleep)

    def buy(
        self,
        url: str,
        input: Any = None,  # noqa: A002  The word of services and of their schemas.
        *,
        max_price: Amount | None = None,
        method: str | None = None,
        wait: float = WAIT_SECONDS,
        on_progress: OnProgress | None = None,
    ) -> Delivery:
        """Call a seller, pay what it asks, and return what it delivers.

        Args:
            input: JSON, sent by POST; without it the call is a GET.
            max_price: in token units; the lower of this and `limits.per_call` counts.
            wait: seconds after which to give up waiting, not the payment.
            on_progress: called with the job object of our kind of seller whenever it is seen.

        Raises:
            NothingPaid: nothing was paid, and nothing is going on.
            Paid: it was paid; `error.payment` is what to `resume` for the answer.
            Undecided: `resume` with `error.payment`; a second purchase might be a second payment.
            ValueError, TypeError: the arguments are wrong; nothing was called.
        """
        return self._driver.run(self._buying((url, input, method, max_price), wait, on_progress))

    def resume(
        self, payment: Payment, *, wait: float = WAIT_SECONDS, on_progress: OnProgress | None = None
    ) -> Delivery:
        """Ask again with a payment that was signed before, from `open_payments` or from an error.

        Raises:
            NothingPaid, Paid, Undecided: as `buy`.
        """
        return self._driver.run(self._resuming(payment, wait, on_progress))

    def resume_all(self, *, wait: float = WAIT_SECONDS) -> Iterator[Delivery | BuyerError]:
        """Go on with every open payment of the journal, one by one; errors are part of the results."""
        for payment in self.open_payments():
            try:
                yield self.resume(payment, wait=wait)
            except BuyerError as error:
                yield error
