"""Searching the transfer of a payment among the events of an RPC's history (standard §10)."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from provider.chain.onchain import Look, Transfer, look_of, looks_of
from provider.chain.rpc import Page
from provider.chain.witness import Witness
from provider.errors import RpcError, RpcUnreachable

EVENTS_PAGE = 1000
MOST_FILTERS = 5
"""Filters of one request, and topics of one filter."""
MOST_TOPICS = MOST_FILTERS * MOST_FILTERS
MOST_LEDGERS = 10_000
"""Ledgers that an RPC searches for events in one request."""
END_OF_LEDGER = 2**32 - 1
"""Lower half of a cursor that is behind everything in its ledger."""

Span = tuple[int, int]
"""First and last ledger."""
Topics = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """What was found in a span of ledgers."""

    seen: Span | None
    """The ledgers that were searched; the RPC has no others of the span in its history."""
    transactions: Mapping[str, int] = field(default_factory=dict)
    """Ledgers, by hash, of those that left an event like that of the payment."""


class TransferSearch:
    """Lists the transactions that moved the amounts of payments; one request serves up to 25 of them.

    Whether one of them used the right nonce is another question.
    """

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    def run(self, wanted: Mapping[Transfer, Span]) -> dict[Transfer, Search | RpcError]:
        """Search each payment in its own ledgers; an error in place of an answer says why there is none."""
        found: dict[Transfer, Search | RpcError] = {}
        for group in self._groups(wanted):
            try:
                found |= self._search(group)
            except RpcError as error:
                # What one payment of the group is to blame for must not keep the others from their answer.
                alone = len(group) == 1 or isinstance(error, RpcUnreachable)
                found |= dict.fromkeys(group, error) if alone else self._one_by_one(group)
        return found

    def _one_by_one(self, group: Mapping[Transfer, Span]) -> dict[Transfer, Search | RpcError]:
        found: dict[Transfer, Search | RpcError] = {}
        for wanted, span in group.items():
            found |= self.run({wanted: span})
        return found

    def _groups(self, wanted: Mapping[Transfer, Span]) -> Iterator[dict[Transfer, Span]]:
        """Put together what one request can ask for: a token, 25 topics, the ledgers of one scan."""
        group: dict[Transfer, Span] = {}
        topics: set[Topics] = set()
        for transfer, span in sorted(wanted.items(), key=lambda item: (item[0].asset, item[1])):
            more = topics | {look[1] for look in self._looks(transfer)}
            if group and not _fits(group, transfer, span, more):
                yield group
                group, more = {}, {look[1] for look in self._looks(transfer)}
            group[transfer], topics = span, more
        if group:
            yield group

    def _looks(self, wanted: Transfer) -> list[Look]:
        return looks_of(wanted, self._witness.issuer(wanted.asset))

    def _search(self, group: Mapping[Transfer, Span]) -> dict[Transfer, Search]:
        first, last = min(span[0] for span in group.values()), max(span[1] for span in group.values())
        filters = _filters({look[:2] for wanted in group for look in self._looks(wanted)})
        found: dict[Look, dict[str, int]] = {}
        start = read_in_sight(
            self._witness, first, last, lambda start: found.update(self._read(filters, start, last))
        )
        return {wanted: self._result(wanted, span, start, found) for wanted, span in group.items()}

    def _result(
        self, wanted: Transfer, span: Span, start: int, found: Mapping[Look, Mapping[str, int]]
    ) -> Search:
        first, last = max(span[0], start), span[1]
        events = [item for look in self._looks(wanted) for item in found.get(look, {}).items()]
        hashes = {tx_hash: ledger for tx_hash, ledger in events if first <= ledger <= last}
        return Search((first, last) if first <= last else None, hashes)

    def _read(self, filters: list[Any], first: int, last: int) -> dict[Look, dict[str, int]]:
        found: defaultdict[Look, dict[str, int]] = defaultdict(dict)
        for page in self._pages(filters, first, last):
            for event in page.items:
                found[look_of(event)][event.transaction] = event.ledger
        return found

    def _pages(self, filters: list[Any], first: int, last: int) -> Iterator[Page]:
        """Read all pages of a range of ledgers; an empty page says nothing about the ones after it."""
        cursor: str | None = None
        while True:
            page = self._page(filters, first, last, cursor)
            if page.latest_ledger < last:
                raise RpcError(f"getEvents: the RPC lags behind, at ledger {page.latest_ledger}")
            yield page
            if _is_end(page, last):
                return
            cursor = next_cursor(page, cursor)

    def _page(self, filters: list[Any], first: int, last: int, cursor: str | None) -> Page:
        rpc = self._witness.rpc
        page, _ = self._witness.page(
            "getEvents",
            EVENTS_PAGE,
            self._witness.ask,
            lambda limit: rpc.events(filters, first=first, last=last, cursor=cursor, limit=limit),
        )
        return page


def _fits(group: Mapping[Transfer, Span], transfer: Transfer, span: Span, topics: set[Topics]) -> bool:
    asset, first = next((one.asset, known[0]) for one, known in group.items())
    return transfer.asset == asset and len(topics) <= MOST_TOPICS and span[1] - first < MOST_LEDGERS


def _filters(wanted: Collection[tuple[str, Topics]]) -> list[Any]:
    asset = next(asset for asset, _ in wanted)
    topics = [[*parts, "**"] for _, parts in sorted(wanted)]
    return [
        {"type": "contract", "contractIds": [asset], "topics": topics[start : start + MOST_FILTERS]}
        for start in range(0, len(topics), MOST_FILTERS)
    ]


def read_in_sight(witness: Witness, first: int, last: int, read: Callable[[int], None]) -> int:
    """Read from a ledger on, or from the oldest that the RPC has; return where, past `last` for nowhere.

    Only the RPC's own word for its oldest ledger makes a refusal one for want of history.
    """
    try:
        read(first)
    except RpcUnreachable:
        raise
    except RpcError:
        oldest = witness.oldest_ledger()
        if oldest <= first:
            raise
        if oldest <= last:
            read(oldest)
        return min(oldest, last + 1)
    return first


def next_cursor(page: Page, cursor: str | None) -> str:
    if not page.cursor or page.cursor == cursor:
        raise RpcError("the RPC's cursor stands still")
    return page.cursor


def _is_end(page: Page, last: int) -> bool:
    """Return whether a page ends the range: its cursor is the end of ledger `last`, not an event in it."""
    try:
        position = int(page.cursor.partition("-")[0])
    except ValueError:
        raise RpcError("getEvents: not a cursor") from None
    at_end = position & END_OF_LEDGER == END_OF_LEDGER or not page.items
    return position >> 32 >= last and at_end
