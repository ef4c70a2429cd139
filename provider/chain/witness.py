"""One RPC, questioned for one run of the reconciler: in batches, and nothing twice (standard §10)."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from provider.chain.nonces import ARCHIVAL_KEY, NonceReading, nonce_key, reading_of
from provider.chain.onchain import Sighting, Transfer, Use, nonces_of, use_of_nonce
from provider.chain.payee import instance_key, issuer_of
from provider.chain.rpc import Entries, Health, Page, StellarRpc, Transaction
from provider.errors import RpcError, RpcUnreachable

MOST_KEYS = 200
"""Ledger keys of one request."""

T = TypeVar("T")
Ask = Callable[[Callable[[], Page]], Page]


class Witness:
    """Answers from one RPC. Raises RpcError; after a call that got no answer it is not asked again."""

    def __init__(self, rpc: StellarRpc, passphrase: str) -> None:
        self.rpc = rpc
        self._calls_before = rpc.calls
        self._passphrase = passphrase
        self._lost: RpcUnreachable | None = None
        self._transactions: dict[str, tuple[Transaction, frozenset[tuple[str, int]] | None]] = {}
        self._issuers: dict[str, str | None] = {}
        self._page_limits: dict[str, int] = {}
        self._health: Health | None = None
        self._asked_health = False

    @property
    def calls(self) -> int:
        """Count the calls made so far."""
        return self.rpc.calls - self._calls_before

    def ask(self, call: Callable[[], T]) -> T:
        """Make a call, unless one before got no answer."""
        try:
            return self.ask_alone(call)
        except RpcUnreachable as error:
            self._lost = error
            raise

    def ask_alone(self, call: Callable[[], T]) -> T:
        """Make a call that may be too heavy for the RPC: no answer to it says nothing about the next call."""
        if self._lost is not None:
            raise self._lost
        return call()

    def page(self, method: str, most: int, ask: Ask, call: Callable[[int], Page]) -> tuple[Page, bool]:
        """Read one page, smaller where the RPC demands it; with whether it is full."""
        limit = min(most, self._page_limits.get(method, most))
        try:
            page = ask(lambda: call(limit))
        except RpcUnreachable:
            raise
        except RpcError as error:
            allowed = _allowed_limit(str(error))
            if not 0 < allowed < limit:
                raise
            self._page_limits[method] = allowed
            return self.page(method, most, ask, call)
        return page, len(page.items) >= limit

    def health(self) -> Health | None:
        """Give the range of known ledgers, read once; None when the RPC finds itself unhealthy."""
        if not self._asked_health:
            self._asked_health = True
            try:
                self._health = self.ask(self.rpc.health)
            except RpcUnreachable:
                raise
            except (RpcError, KeyError, TypeError, ValueError):
                self._health = None
        return self._health

    def oldest_ledger(self) -> int:
        """Give the oldest ledger of the history, which moves while a run lasts; 0 if the RPC does not say."""
        try:
            return self.ask(self.rpc.health).oldest_ledger
        except RpcUnreachable:
            raise
        except (RpcError, KeyError, TypeError, ValueError):
            return 0

    def check_network(self) -> None:
        """Make sure that the RPC serves our network: on another one every payment would seem unmade."""
        if self.ask(self.rpc.passphrase) != self._passphrase:
            raise RpcError("the RPC serves another network")

    def nonces(self, wanted: Collection[Transfer]) -> dict[Transfer, NonceReading | str]:
        """Read the nonce entries of payments; a text in place of a reading says why there is none.

        Each answer has the network's setting, too: an absence proves nothing without it (§10, 3).
        """
        keyed = {transfer: nonce_key(transfer.payer, transfer.nonce) for transfer in wanted}
        assets = {instance_key(asset): asset for asset in sorted({one.asset for one in wanted})[:MOST_ASSETS]}
        answers: dict[Transfer, NonceReading | str] = {}
        for batch in _batches(list(dict.fromkeys(keyed.values())), MOST_KEYS - 1 - len(assets)):
            part = {transfer: key for transfer, key in keyed.items() if key in batch}
            try:
                entries = self._entries([ARCHIVAL_KEY, *assets, *batch])
            except RpcError as error:
                answers |= dict.fromkeys(part, str(error))
            else:
                answers |= {transfer: reading_of(entries, key) for transfer, key in part.items()}
                known = entries.found.keys() & assets.keys()
                self._issuers |= {assets[key]: issuer_of(entries.found[key].xdr) for key in known}
        return answers

    def issuer(self, asset: str) -> str | None:
        """Give the issuer of a token whose nonces were read: empty if it has none, None if unknown."""
        return self._issuers.get(asset)

    def _entries(self, keys: Sequence[str]) -> Entries:
        self.check_network()
        return self.ask(lambda: self.rpc.ledger_entries(keys))

    def look_at(self, tx_hash: str, wanted: Transfer) -> Sighting | None:
        """Look at one transaction; None if the RPC does not know it."""
        if tx_hash not in self._transactions:
            found = self.ask(lambda: self.rpc.transaction(tx_hash))
            if found.ledger is None:
                return None
            self._transactions[tx_hash] = found, nonces_of(found)
        found, nonces = self._transactions[tx_hash]
        carries = nonces is None or (wanted.payer, wanted.nonce) in nonces
        return Sighting(use_of_nonce(found, wanted) if carries else Use.NONE, tx_hash, found.ledger or 0)


MOST_ASSETS = 20
"""Tokens whose issuers are asked for with each batch of nonces; those of others stay unknown."""


def _batches(keys: list[str], size: int) -> list[list[str]]:
    return [keys[start : start + size] for start in range(0, len(keys), size)]


def _allowed_limit(text: str) -> int:
    """Read the limit out of the error of an RPC whose operator set a lower one; 0 for another error."""
    found = re.search(r"limit must not exceed (\d{1,6})\b", text)
    return int(found[1]) if found else 0
