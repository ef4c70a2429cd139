"""The records of the local chain and the one token it knows."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Generic, TypeVar

from stellar_sdk import Asset, xdr

from provider.localnet.chain import settings
from provider.localnet.chain.envelope import Envelope
from provider.networks import PASSPHRASES, TESTNET, TOKEN_DECIMALS, USDC

NULL_ACCOUNT = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF"

T = TypeVar("T")


def atomic(amount: str | int | float | Decimal) -> int:
    """Stroops, or units of the token: both have 7 decimals, and more of them are a mistake."""
    scaled = Decimal(str(amount)).scaleb(TOKEN_DECIMALS)
    if not scaled.is_finite() or scaled != scaled.to_integral_value() or scaled < 0:
        raise ValueError(f"{amount} is not an amount with at most {TOKEN_DECIMALS} decimals")
    return int(scaled)


@dataclass(frozen=True)
class Token:
    """A Stellar asset contract: a classic asset and the contract id derived from it."""

    code: str = "USDC"
    issuer: str = "GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"
    contract: str = USDC[TESTNET]
    decimals: int = TOKEN_DECIMALS

    @property
    def name(self) -> str:
        """The SEP-11 name, which is also the fourth topic of every event."""
        return f"{self.code}:{self.issuer}"

    @property
    def asset(self) -> Asset:
        return Asset(self.code, self.issuer)


@dataclass(frozen=True)
class ChainConfig:
    """What a chain is started with. `retention` and the TTL are in ledgers.

    Raises ValueError for a TTL that stellar-core would not take.
    """

    passphrase: str = PASSPHRASES[TESTNET]
    start_ledger: int = 1_000_000
    ledger_seconds: float = 5.0
    manual: bool = False
    credentials: str = "v1"
    min_temporary_ttl: int = settings.TESTNET_TEMPORARY_TTL
    retention: int = 120_960
    protocol_version: int = 27
    check_time_bounds: bool = True
    token: Token = field(default_factory=Token)

    def __post_init__(self) -> None:
        settings.checked_temporary_ttl(self.min_temporary_ttl)


@dataclass(frozen=True)
class Account:
    """A G account (native balance, sequence, trustline) or a C wallet (its `__check_auth` key)."""

    address: str
    stroops: int = 0
    sequence: int = 0
    trustline: bool = False
    signer: bytes | None = None


@dataclass(frozen=True)
class Ledger:
    sequence: int
    closed_at: float
    hash: str


@dataclass(frozen=True)
class TokenMove:
    """One movement of the token, as the admin `state` shows it. `amount` in atomic units."""

    tx_hash: str
    ledger: int
    sender: str
    recipient: str
    amount: int
    nonce: int | None


@dataclass(frozen=True)
class Applied:
    """A transaction in a ledger. `order` counts from 1, as in `applicationOrder`."""

    envelope: Envelope
    ledger: int
    order: int
    successful: bool
    result: xdr.TransactionResult
    meta: xdr.TransactionMeta
    events: list[xdr.ContractEvent]
    diagnostics: list[xdr.DiagnosticEvent]
    error: str = ""


@dataclass
class Pending:
    """A transaction in the queue. It stays until ledger `not_before`."""

    envelope: Envelope
    not_before: int = 0
    fail: bool = False


class History(Generic[T]):
    """A value and everything it was before, so that a lagging node can be played."""

    def __init__(self) -> None:
        self._ledgers: list[int] = []
        self._values: list[T] = []

    def put(self, ledger: int, value: T) -> None:
        if self._ledgers and self._ledgers[-1] == ledger:
            self._values[-1] = value
            return
        self._ledgers.append(ledger)
        self._values.append(value)

    def at(self, ledger: int) -> tuple[int, T] | None:
        """The last change up to this ledger, as (ledger of the change, value)."""
        index = bisect_right(self._ledgers, ledger) - 1
        return (self._ledgers[index], self._values[index]) if index >= 0 else None
