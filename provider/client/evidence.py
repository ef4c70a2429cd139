"""What the chain says about a payment: made, not made, or still usable (standard §10, for a buyer)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from requests.utils import get_environ_proxies
from stellar_sdk import scval

from provider.chain.node import Node
from provider.chain.onchain import Transfer, Use, use_of_nonce
from provider.chain.rpc import StellarRpc
from provider.client.payment import Payment
from provider.errors import RpcError
from provider.networks import PASSPHRASES

LEAST_ENTRY_LEDGERS = 16
"""Ledgers that a nonce entry lives at least, its own included, whatever the network's setting: the floor of
stellar-core. So long after the signature its absence proves that the payment was not made."""
EVENTS_PAGE = 100
RPC_SECONDS = 10.0


class Standing(StrEnum):
    """Where a payment stands."""

    PAID = "paid"
    """Its nonce is used up, which only this transfer can have done."""
    OPEN = "open"
    """Not made so far, and usable until its expiration ledger; or the chain does not show it."""
    UNPAID = "unpaid"
    """Expired and never made."""


@dataclass(frozen=True, slots=True)
class ChainAnswer:
    """The answer for one payment; the transaction is known where one was found."""

    standing: Standing
    transaction: str = ""
    ledger: int | None = None
    asked: bool = True
    """False: the chain did not answer."""


OPEN = ChainAnswer(Standing.OPEN)
NOT_ASKED = ChainAnswer(Standing.OPEN, asked=False)


class BuyersRpc(StellarRpc):
    """An RPC that is reached as sellers are: through the proxy of the environment, if there is one."""

    def __init__(self, url: str) -> None:
        super().__init__(url, timeout_seconds=RPC_SECONDS)
        self._session.proxies.update(get_environ_proxies(url))


class ChainWitness:
    """Asks one RPC; raises nothing."""

    def __init__(self, rpc_url: str) -> None:
        self.rpc = BuyersRpc(rpc_url)
        self.node = Node(self.rpc)

    def look(self, payment: Payment, transaction: str = "") -> ChainAnswer:
        """Find out where a payment stands; `transaction` is the hash that the seller named, if any."""
        return _answered(lambda: self._look(payment, transaction)) or NOT_ASKED

    def _look(self, payment: Payment, transaction: str) -> ChainAnswer:
        if self.rpc.passphrase() != PASSPHRASES[payment.network]:
            return NOT_ASKED  # On another network every payment would seem unmade.
        named = _answered(lambda: self._in(transaction, payment)) if transaction else None
        return named or self._by_nonce(payment)

    def _in(self, transaction: str, payment: Payment) -> ChainAnswer | None:
        found = self.rpc.transaction(transaction)
        if use_of_nonce(found, _transfer(payment)) is not Use.PAID:
            return None
        return ChainAnswer(Standing.PAID, found.hash, found.ledger)

    def _by_nonce(self, payment: Payment) -> ChainAnswer:
        entry = self.node.nonce(payment.payer, payment.nonce)
        if entry.exists:
            return _answered(lambda: self._found(payment, entry.latest_ledger)) or ChainAnswer(Standing.PAID)
        first, last = payment.signed_ledger, payment.expiration_ledger
        if entry.proves_unused(first, last) or last < entry.latest_ledger < first + LEAST_ENTRY_LEDGERS:
            return ChainAnswer(Standing.UNPAID)
        return self._found(payment, min(entry.latest_ledger, last)) or OPEN

    def _found(self, payment: Payment, last: int) -> ChainAnswer | None:
        """Search the transaction by the events of its transfer."""
        first = max(payment.signed_ledger, self.rpc.health().oldest_ledger)
        if first > last:
            return None
        parts = (scval.to_symbol("transfer"), *map(scval.to_address, (payment.payer, payment.pay_to)))
        topics = [*(part.to_xdr() for part in parts), "**"]
        filters = [{"type": "contract", "contractIds": [payment.asset], "topics": [topics]}]
        page = self.rpc.events(filters, first=first, last=last, limit=EVENTS_PAGE)
        hashes = dict.fromkeys(event.transaction for event in page.items)
        return next((found for each in hashes if (found := self._in(each, payment))), None)


def _answered(ask: Callable[[], ChainAnswer | None]) -> ChainAnswer | None:
    try:
        return ask()
    except (RpcError, LookupError, TypeError, ValueError):
        return None


def _transfer(payment: Payment) -> Transfer:
    return Transfer(payment.asset, payment.payer, payment.pay_to, payment.amount, payment.nonce)
