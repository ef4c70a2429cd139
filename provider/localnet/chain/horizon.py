"""The one Horizon resource that x402 clients read: the close times of the last ledgers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

from provider.localnet.chain.state import ChainState

DEFAULT_LIMIT, MAX_LIMIT = 10, 200


def ledgers(state: ChainState, query: str) -> dict[str, Any]:
    """GET /ledgers?limit&order. Raises ValueError for a bad parameter."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    limit, order = int(given.get("limit", DEFAULT_LIMIT)), given.get("order", "asc")
    if not 1 <= limit <= MAX_LIMIT or order not in ("asc", "desc"):
        raise ValueError("limit or order is out of range")
    with state.lock:
        state.tick()
        chosen = state.ledgers[-limit:][::-1] if order == "desc" else state.ledgers[:limit]
    link = {"href": f"/ledgers?limit={limit}&order={order}"}
    records = [
        {
            "id": item.hash,
            "paging_token": str(item.sequence << 32),
            "hash": item.hash,
            "sequence": item.sequence,
            "closed_at": datetime.fromtimestamp(int(item.closed_at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "protocol_version": state.config.protocol_version,
        }
        for item in chosen
    ]
    return {"_links": {"self": link, "next": link, "prev": link}, "_embedded": {"records": records}}
