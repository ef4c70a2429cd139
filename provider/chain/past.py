"""Was a payment made already? Asked where no job knows it: its claim is gone, or was never here (H4)."""

import threading
from dataclasses import dataclass

from provider.chain.history import TransferSearch
from provider.chain.nonces import NonceReading
from provider.chain.onchain import Transfer, Use
from provider.chain.rpc import StellarRpc
from provider.chain.witness import Witness
from provider.errors import RpcError

MOST_AT_ONCE = 8
"""Look-ups of one process; strangers may cause them."""
MOST_LOOKED_AT = 10
"""Transactions of one look-up."""


@dataclass(frozen=True, slots=True)
class Past:
    """Whether the nonce of a payment was used; None when the RPC does not show it any more."""

    used: bool | None
    transaction: str = ""
    """The transaction that made the payment, if it was found."""


class PastPayments:
    """Asks one RPC."""

    def __init__(self, rpc: StellarRpc, passphrase: str) -> None:
        self._rpc, self._passphrase = rpc, passphrase
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)

    def find(self, wanted: Transfer, *, first: int, expiration: int) -> Past:
        """Look a payment up that can have been made in the ledgers from `first` to its expiration.

        Raises RpcError when there is no answer, or too many look-ups are under way.
        """
        if not self._places.acquire(blocking=False):
            raise RpcError("too many payments are being looked up")
        try:
            return self._find(Witness(self._rpc, self._passphrase), wanted, first, expiration)
        finally:
            self._places.release()

    def _find(self, witness: Witness, wanted: Transfer, first: int, expiration: int) -> Past:
        reading = witness.nonces([wanted])[wanted]
        if isinstance(reading, str):
            raise RpcError(reading)
        if _is_unused(reading, first, expiration):
            return Past(False)
        span = (first, min(reading.latest_ledger, expiration))
        try:
            transaction, complete = _search(witness, wanted, span)
        except RpcError:
            transaction, complete = "", False
        if reading.exists or transaction:
            return Past(True, transaction)
        return Past(False if complete else None)


def _is_unused(reading: NonceReading, first: int, expiration: int) -> bool:
    """A nonce without an entry is unused so far; after its expiration only for as long as entries live."""
    if reading.exists:
        return False
    return reading.latest_ledger <= expiration or reading.proves_unused(first, expiration)


def _search(witness: Witness, wanted: Transfer, span: tuple[int, int]) -> tuple[str, bool]:
    """Return the transaction that made the payment, and whether all ledgers of the span were searched."""
    search = TransferSearch(witness).run({wanted: span})[wanted]
    if isinstance(search, RpcError):
        raise search
    found = list(search.transactions)
    for tx_hash in found[:MOST_LOOKED_AT]:
        sighting = witness.look_at(tx_hash, wanted)
        if sighting is not None and sighting.use is Use.PAID:
            return tx_hash, True
    return "", search.seen == span and len(found) <= MOST_LOOKED_AT
