"""Counting what is asked of an RPC."""

from collections import Counter
from typing import Any

from provider.chain.rpc import StellarRpc


class CountingRpc(StellarRpc):
    """An RPC client that counts what it asks, by method."""

    def __init__(self, url: str) -> None:
        super().__init__(url, timeout_seconds=5)
        self.asked: Counter[str] = Counter()

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.asked[method] += 1
        return super().call(method, params)
