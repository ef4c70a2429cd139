"""Listing all transactions of ledgers: what used a nonce may have left no transfer event (standard §10)."""

import base64
from collections.abc import Iterator

from provider.chain.history import Span, next_cursor, read_in_sight
from provider.chain.onchain import Sighting, Transfer, Use, use_of_nonce
from provider.chain.rpc import Page, Transaction
from provider.chain.witness import Witness
from provider.errors import RpcError, RpcUnreachable

TRANSACTIONS_PAGE = 200
MOST_PAGES, MOST_PAGES_A_JOB = 100, 30
"""Of one run, and of one job in it: enough for a payment that was valid for some minutes."""
NO_ANSWER_PAGES = 20
"""What a page costs that is not answered: after five of them a run lists no more."""
OUT_OF_PAGES = "more transactions than one run lists; `provider reconcile --job` lists them all"


class Pages:
    """How many pages of transactions a run may read: they are the heaviest answers of an RPC."""

    def __init__(self, most: float = MOST_PAGES, most_a_job: float = MOST_PAGES_A_JOB) -> None:
        self._left = most
        self._most_a_job = most_a_job

    def grant(self) -> float:
        """Give what one job may read."""
        return min(self._left, self._most_a_job)

    def take(self, pages: float) -> None:
        """Note that pages were read."""
        self._left -= pages


class Scan:
    """Lists for one payment; `found` are the transactions that used its nonce, so far."""

    def __init__(self, witness: Witness, pages: Pages, wanted: Transfer) -> None:
        self._witness = witness
        self._pages = pages
        self._left = pages.grant()
        self._wanted = wanted
        self._nonce = wanted.nonce.to_bytes(8, "big", signed=True)
        self.found: list[Sighting] = []

    def run(self, first: int, last: int) -> Span | None:
        """Look at all transactions of some ledgers, and give those of the ledgers that the RPC has.

        Raises RpcError: the RPC refuses, or there are too many transactions.
        """
        start = read_in_sight(self._witness, first, last, lambda start: self._read(start, last))
        return (start, last) if start <= last else None

    def _read(self, first: int, last: int) -> None:
        for page in self._listed(first, last):
            for item in page.items:
                use = self._use(item) if item.ledger <= last else Use.NONE
                if use in (Use.PAID, Use.SPENT):
                    self.found.append(Sighting(use, item.hash, item.ledger))

    def _use(self, item: Transaction) -> Use:
        """Decode only what has the bytes of the nonce in it: that takes a hundredth of the time."""
        try:
            carries = self._nonce in base64.b64decode(item.envelope)
        except ValueError:
            return Use.UNCLEAR
        return use_of_nonce(item, self._wanted) if carries else Use.NONE

    def _listed(self, first: int, last: int) -> Iterator[Page]:
        cursor: str | None = None
        while True:
            page, full = self._page(first, cursor)
            if page.latest_ledger < last:
                raise RpcError(f"getTransactions: the RPC lags behind, at ledger {page.latest_ledger}")
            yield page
            if not full or page.items[-1].ledger > last:
                return
            cursor = next_cursor(page, cursor)

    def _page(self, first: int, cursor: str | None) -> tuple[Page, bool]:
        if self._left <= 0:
            raise RpcError(OUT_OF_PAGES)
        cost, rpc = 1, self._witness.rpc
        try:
            return self._witness.page(
                "getTransactions",
                TRANSACTIONS_PAGE,
                self._witness.ask_alone,
                lambda limit: rpc.transactions(first, cursor, limit),
            )
        except RpcUnreachable:
            cost = NO_ANSWER_PAGES
            raise
        finally:
            self._left -= cost
            self._pages.take(cost)
