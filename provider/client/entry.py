"""What a journal knows of one payment."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from provider.client.evidence import Standing
from provider.client.exchange import HttpReply
from provider.client.payment import Payment

KEPT_HEADERS = ("content-type", "payment-response", "location")


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One payment, and what became of it so far."""

    payment: Payment
    reply: HttpReply | None = None
    """The answer, once there is one to keep."""
    kind: str = ""
    """How the call ended with it, see `pursuit.CallEnd`."""
    standing: Standing = Standing.OPEN
    transaction: str = ""
    ledger: int | None = None
    finished: bool = False
    """Nothing more is to be had for it."""

    @property
    def counts(self) -> bool:
        """True while it counts against limits: until the chain proves that it was not made."""
        return self.standing is not Standing.UNPAID


def entry_of(fact: Mapping[str, Any], known: JournalEntry | None) -> JournalEntry:
    """Take in one line of a journal. Raises LookupError, TypeError or ValueError for what is no such line."""
    if known is None:
        return JournalEntry(Payment.from_json(fact["payment"]))
    plain = ("kind", "transaction", "ledger", "finished")
    changes: dict[str, Any] = {name: fact[name] for name in plain if name in fact}
    if "standing" in fact:
        changes["standing"] = Standing(fact["standing"])
    if "reply" in fact:
        changes["reply"] = _load_reply(fact["reply"])
    return replace(known, **changes)


def without_content(fact: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out of a line what limits do not need: the call, its payment and its answer."""
    found = {name: value for name, value in fact.items() if name not in ("reply", "kind")}
    if "payment" in found:
        found["payment"] = {**found["payment"], "input": None, "header": ""}
    return found


def dump_reply(reply: HttpReply) -> dict[str, Any]:
    """Spell an answer as JSON: text as it is, anything else as base64."""
    headers = {name: reply.headers[name] for name in KEPT_HEADERS if name in reply.headers}
    found: dict[str, Any] = {"status": reply.status, "headers": headers, "complete": reply.complete}
    try:
        return found | {"text": reply.content.decode("utf-8")}
    except UnicodeDecodeError:
        return found | {"base64": base64.b64encode(reply.content).decode("ascii")}


def _load_reply(obj: Mapping[str, Any]) -> HttpReply:
    content = obj["text"].encode() if "text" in obj else base64.b64decode(obj["base64"])
    return HttpReply(int(obj["status"]), dict(obj["headers"]), content, obj["complete"] is True)
