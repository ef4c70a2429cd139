"""Channel accounts: one transaction in flight each, so that no sequence number is used twice (facts B4.5)."""

import queue
from collections.abc import Collection, Iterable

from stellar_sdk import Keypair


class Channel:
    """A submitting account. `sequence` is the last one known to be used; read it while holding the lease."""

    def __init__(self, keypair: Keypair) -> None:
        self.keypair = keypair
        self.sequence = 0

    @property
    def address(self) -> str:
        return self.keypair.public_key


class Channels:
    """Leases channels, the one that waited longest first."""

    def __init__(self, keypairs: Iterable[Keypair], busy: Collection[str] = ()) -> None:
        """`busy` are addresses with a transaction in flight from an earlier life; `release` frees them."""
        self._all = {keypair.public_key: Channel(keypair) for keypair in keypairs}
        self._idle: queue.Queue[Channel] = queue.Queue()
        for channel in self._all.values():
            if channel.address not in busy:
                self._idle.put(channel)

    def lease(self, timeout_seconds: float) -> Channel | None:
        """Wait for a free channel; None when there was none in time."""
        try:
            return self._idle.get(timeout=max(0.0, timeout_seconds))
        except queue.Empty:
            return None

    def release(self, address: str, used_sequence: int = 0) -> None:
        """Give a channel back once its transaction is decided; an address no longer ours is ignored."""
        channel = self._all.get(address)
        if channel is not None:
            channel.sequence = max(channel.sequence, used_sequence)
            self._idle.put(channel)

    @property
    def addresses(self) -> list[str]:
        return list(self._all)

    @property
    def idle(self) -> int:
        return self._idle.qsize()
