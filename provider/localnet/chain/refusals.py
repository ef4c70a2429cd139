"""The faults that are JSON-RPC errors of a healthy connection, with the codes and texts of stellar-rpc.

None of them says anything about the ledgers that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from provider.localnet.chain.errors import CaptiveCoreError, JsonRpcError
from provider.localnet.chain.faults import Faults

Params = dict[str, Any]


def processing_limit(method: str, params: Params) -> JsonRpcError:
    """After 5 s (requestdurationlimiter.go:281-308). Returned by value, it gets its code into the text."""
    return JsonRpcError(-32001, "[-32001] request exceeded processing limit threshold")


def queue_limit(method: str, params: Params) -> JsonRpcError:
    """A plain error of Go, which jrpc2 makes a system error (backlogQ.go:115-130, jrpc2 code.go)."""
    limit = params["limit"]
    return JsonRpcError(-32098, f"rpc queue for {method} surpassed queue limit of {limit} requests")


def database_error(method: str, params: Params) -> JsonRpcError:
    """Whatever SQLite says (get_transactions.go:72-76)."""
    return JsonRpcError(-32603, params["message"])


def captive_core(method: str, params: Params) -> JsonRpcError:
    return CaptiveCoreError("http request failed with non-200 status code (404)")


REFUSALS: dict[str, Callable[[str, Params], JsonRpcError]] = {
    function.__name__: function for function in (processing_limit, queue_limit, database_error, captive_core)
}


def raise_refusal(faults: Faults, method: str) -> None:
    """Raise the error of the first fault of these that hits the call."""
    for name, error in REFUSALS.items():
        fault = faults.take(name, method)
        if fault is not None:
            raise error(method, fault.params)
