"""The local chain itself: accounts, token, nonces, queue, ledgers. No I/O; one lock guards all of it.

Time comes from `clock`. An automatic chain closes the ledgers that are due whenever it is looked at;
a manual one closes them when told, and its time is the close time of its last ledger.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from stellar_sdk import StrKey, xdr
from stellar_sdk.utils import sha256

from provider.localnet.chain import admission, settings
from provider.localnet.chain.application import Application
from provider.localnet.chain.books import Books
from provider.localnet.chain.envelope import Envelope
from provider.localnet.chain.model import (
    NULL_ACCOUNT,
    Account,
    Applied,
    ChainConfig,
    History,
    Ledger,
    Pending,
    TokenMove,
    atomic,
)
from provider.localnet.chain.world import Snapshot

T = TypeVar("T")

SEEDED_LEDGERS = 20
BAN_LEDGERS = 10
CREDENTIALS = ("v1", "v2", "by-flag")


class ChainState:
    """The public methods are the Python API of the chain; all of them may be called from any thread."""

    def __init__(self, config: ChainConfig | None = None, clock: Callable[[], float] = time.time) -> None:
        self.config = config or ChainConfig()
        self.lock = threading.RLock()
        self.set_credentials(self.config.credentials)
        self.books = Books(self.config)
        self.accounts, self.balances = self.books.accounts, self.books.balances
        self.queue: list[Pending] = []
        self._banned: dict[bytes, int] = {}
        self.applied: list[Applied] = []
        self.transfers: list[TokenMove] = []
        self._by_hash: dict[str, Applied] = {}
        self._clock, self._ahead = clock, 0.0
        self.ledgers: list[Ledger] = []
        # Clients average the last 20 ledgers and divide by zero when all closed at once.
        start = clock() - (SEEDED_LEDGERS - 1) * self.config.ledger_seconds
        for _ in range(SEEDED_LEDGERS):
            self._append_ledger(start)
            start += self.config.ledger_seconds
        self._put(self.accounts, NULL_ACCOUNT, Account(NULL_ACCOUNT))

    @property
    def latest(self) -> Ledger:
        return self.ledgers[-1]

    def ledger(self, sequence: int) -> Ledger:
        return self.ledgers[sequence - self.config.start_ledger]

    def oldest(self, latest: int) -> int:
        """The first ledger that a node at ledger `latest` still knows."""
        return max(self.config.start_ledger, latest - self.config.retention + 1)

    def now(self) -> float:
        return self.latest.closed_at if self.config.manual else self._clock() + self._ahead

    def set_credentials(self, mode: str) -> None:
        """Which credentials a simulation records: `v1`, `v2`, or what `useUpgradedAuth` asks for."""
        if mode not in CREDENTIALS:
            raise ValueError(f"credentials must be one of {', '.join(CREDENTIALS)}")
        self.credentials = mode

    def set_min_temporary_ttl(self, ledgers: int) -> None:
        """Change the network setting, as an upgrade does; entries that exist keep their end."""
        with self.lock:
            self.tick()
            settings.checked_temporary_ttl(ledgers)
            self.books.min_temporary_ttl.put(self.latest.sequence, ledgers)

    def fund(
        self,
        account: str,
        usdc: str = "0",
        xlm: str = "10000",
        *,
        trustline: bool = True,
        signer: str | None = None,
    ) -> Account:
        """Add to the balances of an account, created first. A C wallet needs the G form of its `signer`."""
        with self.lock:
            self.tick()
            known = self.account(account) or self._new_account(account, signer)
            units = atomic(usdc)
            held = self.balance(account)
            if units and not trustline:
                raise ValueError("an account without a trustline cannot hold the token")
            stroops = known.stroops + (atomic(xlm) if account.startswith("G") else 0)
            known = replace(known, stroops=stroops, trustline=known.trustline or trustline)
            self._put(self.accounts, account, known)
            self._put(self.balances, account, held + units)
            return known

    def account(self, address: str) -> Account | None:
        return self.snapshot().account(address)

    def balance(self, address: str) -> int:
        """Atomic units of the token."""
        return self.snapshot().balance(address)

    def transaction(self, tx_hash: str) -> Applied | None:
        """By outer or inner hash."""
        return self._by_hash.get(tx_hash)

    def snapshot(self, at: int | None = None, ledger: int | None = None) -> Snapshot:
        """The world after ledger `at`, as a call in `ledger` would see it."""
        at = self.latest.sequence if at is None else at
        return Snapshot(self.books, at, at if ledger is None else ledger)

    def tick(self) -> None:
        """Close the ledgers that are due; a manual chain has none."""
        with self.lock:
            if self.config.manual:
                return
            while self.latest.closed_at + self.config.ledger_seconds <= self.now():
                self._close()

    def close(self, ledgers: int = 1) -> Ledger:
        """Close ledgers now and move the time of the chain on with them."""
        with self.lock:
            self.tick()
            for _ in range(ledgers):
                self._ahead += self.config.ledger_seconds
                self._close()
            return self.latest

    def submit(self, envelope: Envelope) -> tuple[str, xdr.TransactionResult | None]:
        """Offer a transaction to the queue: a status of sendTransaction, and the result of an ERROR."""
        with self.lock:
            self.tick()
            waiting = self._waiting(envelope)
            if waiting is not None:
                return waiting, None
            world = self.snapshot()
            close_time = self.latest.closed_at if self.config.check_time_bounds else None
            source, fee_source = world.account(envelope.source), world.account(envelope.fee_source)
            result = admission.refuse(envelope, source, fee_source, close_time)
            if result is not None:
                return "ERROR", result
            self.queue.append(Pending(envelope))
            return "PENDING", None

    def _waiting(self, envelope: Envelope) -> str | None:
        """The answer to a transaction that was here before, or the account of which has another one here.

        stellar-core TransactionQueue.cpp, canAdd: in this order, and before signatures are looked at.
        """
        if self.latest.sequence < self._banned.get(envelope.hash, 0):
            return "TRY_AGAIN_LATER"
        current = next((item for item in self.queue if item.envelope.source == envelope.source), None)
        if current is None:
            return None
        known = {current.envelope.hash, current.envelope.inner_hash}
        return "DUPLICATE" if envelope.hash in known else "TRY_AGAIN_LATER"

    def pending(self, tx_hash: bytes) -> Pending | None:
        return next((item for item in self.queue if item.envelope.hash == tx_hash), None)

    def forget(self, tx_hash: bytes) -> None:
        """Lose a queued transaction, as networks do silently."""
        with self.lock:
            self.queue = [item for item in self.queue if item.envelope.hash != tx_hash]

    def _append_ledger(self, closed_at: float) -> None:
        sequence = self.config.start_ledger + len(self.ledgers)
        digest = sha256(f"{self.config.passphrase} {sequence}".encode()).hex()
        self.ledgers.append(Ledger(sequence, closed_at, digest))

    def _close(self) -> None:
        self._append_ledger(self.latest.closed_at + self.config.ledger_seconds)
        due = [item for item in self.queue if item.not_before <= self.latest.sequence]
        self.queue = [item for item in self.queue if item not in due]
        order = 0
        for item in due:
            if self._is_too_late(item.envelope):
                self._ban(item.envelope, BAN_LEDGERS)
                continue
            order += 1
            application = Application(self.books, item, self.latest.sequence, order)
            self._record(application.run())
            self.transfers += application.moved
            self._ban(item.envelope, BAN_LEDGERS - 1)

    def _ban(self, envelope: Envelope, ledgers: int) -> None:
        """Answer TRY_AGAIN_LATER to this hash until so many more ledgers closed.

        stellar-core TransactionQueue.cpp: applied ones are banned before the ledger's own shift of the ten
        (HerderImpl.cpp:63), those that became invalid after it.
        """
        self._banned[envelope.hash] = self.latest.sequence + ledgers

    def _is_too_late(self, envelope: Envelope) -> bool:
        latest = envelope.time_bounds[1]
        return self.config.check_time_bounds and 0 < latest < int(self.latest.closed_at)

    def _record(self, applied: Applied) -> None:
        self.applied.append(applied)
        self._by_hash[applied.envelope.hash.hex()] = applied
        self._by_hash[applied.envelope.inner_hash.hex()] = applied

    def _new_account(self, address: str, signer: str | None) -> Account:
        if StrKey.is_valid_ed25519_public_key(address):
            return Account(address, sequence=self.latest.sequence << 32)
        if not StrKey.is_valid_contract(address):
            raise ValueError(f"{address} is neither a G account nor a C contract")
        if signer is None:
            raise ValueError("a wallet contract needs the public key of its signer")
        return Account(address, trustline=True, signer=StrKey.decode_ed25519_public_key(signer))

    def _put(self, table: dict[str, History[T]], address: str, value: T) -> None:
        """Write what was funded. The first value was always there: a lagging node must know its people."""
        ledger = self.latest.sequence if address in table else self.config.start_ledger
        table.setdefault(address, History()).put(ledger, value)
