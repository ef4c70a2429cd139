"""One RPC, questioned for one run of the reconciler: in batches, and nothing twice (standard §10)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from provider.chain.onchain import (
    ARCHIVAL_KEY,
    MIN_TEMPORARY_TTL,
    Transfer,
    Use,
    min_temporary_ttl,
    nonce_key,
    nonces_of,
    use_of_nonce,
)
from provider.chain.rpc import Entries, Health, StellarRpc, Transaction
from provider.errors import RpcError, RpcUnreachable

MOST_KEYS = 200
"""Ledger keys of one request."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NonceReading:
    """What an RPC said about a nonce, as of its own `latest_ledger`."""

    latest_ledger: int
    proof_ledgers: int
    """For so many ledgers after the first one that a payment could land in, its entry is there if it did."""
    used_ledger: int | None = None
    live_until_ledger: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a look at transactions gave."""

    use: Use = Use.NONE
    transaction: str = ""
    ledger: int | None = None
    complete: bool = True
    """Everything asked for was looked at, so that NONE means that there is nothing."""


class Witness:
    """Answers from one RPC. Raises RpcError; once it was unreachable, it is not asked again."""

    def __init__(self, rpc: StellarRpc, passphrase: str) -> None:
        self.rpc = rpc
        self._calls_before = rpc.calls
        self._passphrase = passphrase
        self._proof_ledgers = MIN_TEMPORARY_TTL - 1
        self._lost: RpcUnreachable | None = None
        self._transactions: dict[str, tuple[Transaction, frozenset[tuple[str, int]]]] = {}
        self._health: Health | None = None
        self._asked_health = False

    @property
    def calls(self) -> int:
        """Count the calls made so far."""
        return self.rpc.calls - self._calls_before

    def ask(self, call: Callable[[], T]) -> T:
        """Make a call, unless one before found nobody there."""
        if self._lost is not None:
            raise self._lost
        try:
            return call()
        except RpcUnreachable as error:
            self._lost = error
            raise

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

    def check_network(self) -> None:
        """Make sure that the RPC serves our network: on another one every payment would seem unmade."""
        if self.ask(self.rpc.passphrase) != self._passphrase:
            raise RpcError("the RPC serves another network")

    def nonces(self, wanted: Collection[Transfer]) -> dict[Transfer, NonceReading | str]:
        """Read the nonce entries of payments; a text in place of a reading says why there is none."""
        keyed = {transfer: nonce_key(transfer.payer, transfer.nonce) for transfer in wanted}
        answers: dict[Transfer, NonceReading | str] = {}
        for batch in _batches([ARCHIVAL_KEY, *dict.fromkeys(keyed.values())] if keyed else []):
            part = {transfer: key for transfer, key in keyed.items() if key in batch}
            try:
                entries = self._entries(batch)
            except RpcError as error:
                answers |= dict.fromkeys(part, str(error))
            else:
                answers |= {transfer: self._reading(entries, key) for transfer, key in part.items()}
        return answers

    def _entries(self, keys: Sequence[str]) -> Entries:
        self.check_network()
        entries = self.ask(lambda: self.rpc.ledger_entries(keys))
        if ARCHIVAL_KEY in entries.found:
            self._proof_ledgers = min_temporary_ttl(entries.found[ARCHIVAL_KEY].xdr) - 1
        return entries

    def _reading(self, entries: Entries, key: str) -> NonceReading:
        entry = entries.found.get(key)
        if entry is None:
            return NonceReading(entries.latest_ledger, self._proof_ledgers)
        used, until = entry.modified_ledger, entry.live_until_ledger
        return NonceReading(entries.latest_ledger, self._proof_ledgers, used, until)

    def look_at(self, tx_hash: str, wanted: Transfer) -> Finding:
        """Look at one transaction; what the RPC does not know is no complete look."""
        if tx_hash not in self._transactions:
            found = self.ask(lambda: self.rpc.transaction(tx_hash))
            if found.ledger is None:
                return Finding(complete=False)
            self._transactions[tx_hash] = found, nonces_of(found)
        found, nonces = self._transactions[tx_hash]
        if (wanted.payer, wanted.nonce) not in nonces:
            return Finding()
        return Finding(use_of_nonce(found, wanted), tx_hash, found.ledger)


def _batches(keys: list[str]) -> list[list[str]]:
    return [keys[start : start + MOST_KEYS] for start in range(0, len(keys), MOST_KEYS)]
