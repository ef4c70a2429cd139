"""getEvents: filters, cursors, ranges and pages."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from stellar_sdk import StrKey, xdr

from provider.localnet.chain.errors import InvalidParams, InvalidRequest
from provider.localnet.chain.model import Applied, Ledger

MAX_FILTERS = MAX_CONTRACTS = MAX_TOPICS = 5
MAX_SEGMENTS = 4
DEFAULT_LIMIT, MAX_LIMIT = 100, 10_000
SCAN_LEDGERS = 10_000
LAST_EVENT = 2**32 - 1

Json = dict[str, Any]


@dataclass(frozen=True)
class Filter:
    """Empty contracts or topics mean any. A topic filter is a list of base64 values, `*` and a last `**`."""

    contracts: list[str]
    topics: list[list[str]]

    def fits(self, contract: str, topic: list[str]) -> bool:
        if self.contracts and contract not in self.contracts:
            return False
        return not self.topics or any(_topic_fits(wanted, topic) for wanted in self.topics)


@dataclass(frozen=True)
class Query:
    """A checked request. `cursor` is (TOID, index of the event) of the last event seen."""

    start: int
    end: int | None
    cursor: tuple[int, int] | None
    limit: int
    filters: list[Filter]

    def span(self, oldest: int, latest: int) -> tuple[int, int]:
        """First ledger and the one after the last to scan. Raises InvalidRequest outside of the history."""
        start = self.cursor[0] >> 32 if self.cursor else self.start
        if not oldest <= start <= latest:
            raise InvalidRequest(f"startLedger must be within the ledger range: {oldest} - {latest}")
        end = min(latest + 1, start + SCAN_LEDGERS)
        return start, min(end, self.end) if self.end is not None else end

    def page(
        self, applied: list[Applied], end: int, ledger: Callable[[int], Ledger]
    ) -> tuple[list[Json], str]:
        """Events of one page and the cursor to go on with: that of the last event, or of the range's end."""
        found = []
        for item in applied:
            for event_id, event in _events(item, ledger(item.ledger)):
                if self.cursor and event_id <= self.cursor:
                    continue
                if not self.filters or any(f.fits(event["contractId"], event["topic"]) for f in self.filters):
                    found.append(event)
                if len(found) == self.limit:
                    return found, str(found[-1]["id"])
        return found, _cursor((end << 32) - 1, LAST_EVENT)


def parse(params: Json, most: int = MAX_LIMIT) -> Query:
    """Check a request for at most `most` events a page. Raises InvalidParams.

    An `endLedger` at or before `startLedger` is no error, only an empty range (go-stellar-sdk get_events.go).
    """
    pagination = params.get("pagination") or {}
    if not isinstance(pagination, dict):
        raise InvalidParams("pagination must be an object")
    start, end = _number(params, "startLedger"), _number(params, "endLedger")
    cursor = _parse_cursor(pagination.get("cursor"))
    if cursor is not None and (start or end):
        raise InvalidParams("ledger ranges and cursor cannot both be set")
    if cursor is None and (start or 0) <= 0:
        raise InvalidParams("startLedger must be positive")
    limit = _number(pagination, "limit") or min(DEFAULT_LIMIT, most)
    if not 0 < limit <= most:
        raise InvalidParams(f"limit must not exceed {most}")
    filters = _listed(params, "filters", MAX_FILTERS)
    return Query(start or 0, end or None, cursor, limit, [_filter(item) for item in filters])


def _filter(item: Any) -> Filter:
    if not isinstance(item, dict):
        raise InvalidParams("filter invalid: not an object")
    if item.get("type") not in (None, "", "contract", "system"):
        raise InvalidParams("filter invalid: if set, type must be either 'system' or 'contract'")
    contracts = _listed(item, "contractIds", MAX_CONTRACTS)
    if not all(isinstance(c, str) and StrKey.is_valid_contract(c) for c in contracts):
        raise InvalidParams("filter invalid: contract ID invalid")
    topics = _listed(item, "topics", MAX_TOPICS)
    for topic in topics:
        _check_topic(topic)
    if item.get("type") == "system":
        return Filter([""], [])
    return Filter(contracts, topics)


def _check_topic(topic: Any) -> None:
    if not isinstance(topic, list) or not 1 <= len(topic) <= MAX_SEGMENTS + (topic[-1] == "**"):
        raise InvalidParams(f"filter invalid: topic cannot have more than {MAX_SEGMENTS} segments")
    for index, segment in enumerate(topic):
        if segment == "*" or (segment == "**" and index == len(topic) - 1):
            continue
        try:
            xdr.SCVal.from_xdr_bytes(base64.b64decode(segment, validate=True))
        except Exception as error:  # The decoder raises a dozen types for hostile bytes.
            raise InvalidParams(
                f"filter invalid: segment {index} of a topic is no value: {segment!r}"
            ) from error


def _topic_fits(wanted: list[str], topic: list[str]) -> bool:
    """`**` takes any rest, an empty one too; without it the lengths must be equal."""
    if wanted[-1] == "**":
        wanted = wanted[:-1]
        topic = topic[: len(wanted)] if len(topic) >= len(wanted) else topic
    return len(wanted) == len(topic) and all(w in ("*", t) for w, t in zip(wanted, topic, strict=True))


def _events(item: Applied, ledger: Ledger) -> Iterator[tuple[tuple[int, int], Json]]:
    closed = datetime.fromtimestamp(int(ledger.closed_at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    toid = item.ledger << 32 | item.order << 12
    for index, event in enumerate(item.events):
        body = event.body.v0
        assert body is not None
        assert event.contract_id is not None
        yield (
            (toid, index),
            {
                "type": "contract",
                "ledger": item.ledger,
                "ledgerClosedAt": closed,
                "contractId": StrKey.encode_contract(event.contract_id.contract_id.hash),
                "id": _cursor(toid, index),
                "operationIndex": 0,
                "transactionIndex": item.order,
                "txHash": item.envelope.hash.hex(),
                "topic": [topic.to_xdr() for topic in body.topics],
                "value": body.data.to_xdr(),
            },
        )


def _cursor(toid: int, index: int) -> str:
    return f"{toid:019d}-{index:010d}"


def _parse_cursor(text: Any) -> tuple[int, int] | None:
    if text in (None, ""):
        return None
    try:
        toid, index = str(text).split("-")
        return int(toid), int(index)
    except ValueError as error:
        raise InvalidParams(f"invalid cursor {text}") from error


def _number(params: Json, name: str) -> int | None:
    value = params.get(name)
    if value is not None and type(value) is not int:
        raise InvalidParams(f"{name} must be a number")
    return value


def _listed(params: Json, name: str, most: int) -> list[Any]:
    values = params.get(name)
    if values is None:
        return []
    if not isinstance(values, list):
        raise InvalidParams(f"{name} must be an array")
    if len(values) > most:
        raise InvalidParams(f"maximum {most} {name} per request")
    return values
