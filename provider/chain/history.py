"""Looking for the transaction of a payment in an RPC's history (standard §10, 3 and 4)."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from provider.chain.onchain import Transfer, Use, event_amount, transfer_topics, use_of_nonce
from provider.chain.rpc import Event, Page
from provider.chain.witness import Finding, Witness
from provider.errors import RpcError

EVENTS_PAGE = 1000
TRANSACTIONS_PAGE = 200
MOST_FILTERS = 5
"""Filters of one request, and topics of one filter."""

Filter = Mapping[str, Any]


Look = tuple[str, tuple[str, ...], int]
"""What equal payments have in common: asset, topics, amount."""


def transfers_at(witness: Witness, ledger: int, wanted: Collection[Transfer]) -> dict[Transfer, list[str]]:
    """Find the transactions of one ledger that moved the same amounts; one request serves 25 payers.

    Whether one of them used the right nonce is another question.
    """
    found: defaultdict[Look, dict[str, None]] = defaultdict(dict)
    for filters in _filters(wanted):
        for page in _pages(witness, filters, ledger, ledger):
            for event in page.items:
                found[_look_of(event)][event.transaction] = None
    return {transfer: list(found[_look(transfer)]) for transfer in wanted}


def search(witness: Witness, wanted: Transfer, first: int, last: int) -> Finding:
    """Look through the ledgers first to last for a transaction that used the nonce.

    Begins at the oldest ledger that the RPC knows if that is later than `first`; such a look is incomplete.
    """
    health = witness.health()
    if health is None:
        return Finding(complete=False)
    start = max(first, health.oldest_ledger)
    if start > last:
        return Finding(complete=False)
    look = _look(wanted)
    for page in _pages(witness, _filters([wanted])[0], start, last):
        for event in page.items:
            if _look_of(event) == look:
                finding = witness.look_at(event.transaction, wanted)
                if finding.use is not Use.NONE:
                    return finding
    return Finding(complete=start == first)


def scan(witness: Witness, wanted: Transfer, ledger: int) -> Finding:
    """Look at every transaction of one ledger: what used a nonce may have left no transfer event."""
    cursor = None
    while True:
        page = _listed(witness, ledger, cursor)
        for item in page.items:
            if item.ledger == ledger and (use := use_of_nonce(item, wanted)) is not Use.NONE:
                return Finding(use, item.hash, ledger)
        if len(page.items) < TRANSACTIONS_PAGE or page.items[-1].ledger > ledger:
            return Finding()
        cursor = _next(page, cursor)


def _listed(witness: Witness, ledger: int, cursor: str | None) -> Page:
    page = witness.ask(lambda: witness.rpc.transactions(ledger, cursor, TRANSACTIONS_PAGE))
    if page.latest_ledger < ledger:
        raise RpcError(f"getTransactions: the RPC lags behind, at ledger {page.latest_ledger}")
    return page


def _filters(wanted: Collection[Transfer]) -> list[list[Filter]]:
    """Ask for the transfers between the same parties, as few requests as their limits allow."""
    parties: defaultdict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for transfer in wanted:
        parties[transfer.asset][transfer.payer, transfer.pay_to] = None
    filters: list[Filter] = []
    for asset, pairs in parties.items():
        topics = [transfer_topics(*pair) for pair in pairs]
        for start in range(0, len(topics), MOST_FILTERS):
            some = topics[start : start + MOST_FILTERS]
            filters.append({"type": "contract", "contractIds": [asset], "topics": some})
    return [filters[start : start + MOST_FILTERS] for start in range(0, len(filters), MOST_FILTERS)]


def _pages(witness: Witness, filters: list[Filter], first: int, last: int) -> Iterator[Page]:
    """Read all pages of a range of ledgers; an empty page says nothing about the ones after it."""
    cursor: str | None = None
    while True:
        page = _page(witness, filters, first, last, cursor)
        if page.latest_ledger < last:
            raise RpcError(f"getEvents: the RPC lags behind, at ledger {page.latest_ledger}")
        yield page
        cursor = _next(page, cursor)
        if len(page.items) < EVENTS_PAGE and _ledger(cursor) >= last:
            return


def _page(witness: Witness, filters: list[Filter], first: int, last: int, cursor: str | None) -> Page:
    return witness.ask(
        lambda: witness.rpc.events(filters, first=first, last=last, cursor=cursor, limit=EVENTS_PAGE)
    )


def _next(page: Page, cursor: str | None) -> str:
    if not page.cursor or page.cursor == cursor:
        raise RpcError("the RPC's cursor stands still")
    return page.cursor


def _ledger(cursor: str) -> int:
    try:
        return int(cursor.partition("-")[0]) >> 32
    except ValueError:
        raise RpcError("getEvents: not a cursor") from None


def _look(wanted: Transfer) -> Look:
    return wanted.asset, tuple(transfer_topics(wanted.payer, wanted.pay_to)[:-1]), wanted.amount


def _look_of(event: Event) -> Look:
    """Leave out the fourth topic of asset contracts, and what a muxed payee adds to the data."""
    amount = event_amount(event.value)
    return event.contract, event.topics[:3], -1 if amount is None else amount
