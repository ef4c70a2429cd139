"""What the ledgers hold: every table with all that it was before, so that any ledger can be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from provider.localnet.chain.model import Account, ChainConfig, History


@dataclass
class Books:
    """Accounts and balances by address; the rest by ledger key (XDR bytes)."""

    config: ChainConfig
    accounts: dict[str, History[Account]] = field(default_factory=dict)
    balances: dict[str, History[int]] = field(default_factory=dict)
    live_until: dict[bytes, History[int]] = field(default_factory=dict)
    """Last ledger of the nonce entries, and of persistent entries that were extended."""
    written: dict[bytes, History[int]] = field(default_factory=dict)
    """Ledger in which a call wrote the entry, or wrote it back unchanged."""
    min_temporary_ttl: History[int] = field(default_factory=History)
    """The network setting, which an upgrade may change."""

    def __post_init__(self) -> None:
        self.min_temporary_ttl.put(self.config.start_ledger, self.config.min_temporary_ttl)

    def live(self, key: bytes, last: int, ledger: int) -> None:
        """Let an entry live until ledger `last`."""
        self.live_until.setdefault(key, History()).put(ledger, last)

    def write(self, key: bytes, ledger: int) -> None:
        self.written.setdefault(key, History()).put(ledger, ledger)
