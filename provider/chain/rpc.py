"""The Stellar RPC methods this project reads, over plain JSON-RPC.

The SDK's `SorobanServer` is made for building transactions and drops the ledger close times that the ledger
clock needs (its `getHealth` model has none), so the read side is this thin client.
"""

import threading
from dataclasses import dataclass
from typing import Any

import requests

from provider.errors import RpcError, RpcUnreachable


@dataclass(frozen=True, slots=True)
class Health:
    """The range of ledgers an RPC knows. Close times are Unix seconds; None before RPC 27.1."""

    latest_ledger: int
    oldest_ledger: int
    latest_close_time: int | None = None
    oldest_close_time: int | None = None


class StellarRpc:
    """One Stellar RPC. Raises RpcUnreachable, or RpcError for an error answer."""

    def __init__(self, url: str, *, timeout_seconds: float = 5.0) -> None:
        self.url = url
        self._timeout = timeout_seconds
        self._local = threading.local()

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Make one JSON-RPC 2.0 call and return its result object."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            answer = self._session.post(self.url, json=request, timeout=self._timeout, allow_redirects=False)
            answer.raise_for_status()
            body = answer.json()
        except (requests.RequestException, ValueError) as error:
            raise RpcUnreachable(f"{method}: {type(error).__name__}") from error
        return _result(method, body)

    @property
    def _session(self) -> requests.Session:
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
        session: requests.Session = self._local.session
        return session

    def health(self) -> Health:
        """Read which ledgers the RPC knows (`getHealth`)."""
        result = self.call("getHealth")
        return Health(
            int(result["latestLedger"]),
            int(result["oldestLedger"]),
            _seconds(result.get("latestLedgerCloseTime")),
            _seconds(result.get("oldestLedgerCloseTime")),
        )


def _result(method: str, body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise RpcUnreachable(f"{method}: not a JSON-RPC answer")
    if body.get("error") is not None:
        error = body["error"]
        text = error.get("message", "") if isinstance(error, dict) else str(error)
        raise RpcError(f"{method}: {text[:300]}")
    result = body.get("result")
    if not isinstance(result, dict):
        raise RpcUnreachable(f"{method}: an answer without a result")
    return result


def _seconds(value: Any) -> int | None:
    return None if value in (None, "") else int(value)
