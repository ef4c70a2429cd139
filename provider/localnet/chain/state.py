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

from provider.localnet.chain import admission, host, xdrout
from provider.localnet.chain.envelope import Envelope
from provider.localnet.chain.errors import HostError
from provider.localnet.chain.model import (
    NULL_ACCOUNT,
    Account,
    Applied,
    ChainConfig,
    History,
    Ledger,
    Nonce,
    Pending,
    Transfer,
    atomic,
)
from provider.localnet.chain.world import Snapshot

T = TypeVar("T")

SEEDED_LEDGERS = 20
CREDENTIALS = ("v1", "v2", "by-flag")


class ChainState:
    """The public methods are the Python API of the chain; all of them may be called from any thread."""

    def __init__(self, config: ChainConfig | None = None, clock: Callable[[], float] = time.time) -> None:
        self.config = config or ChainConfig()
        self.lock = threading.RLock()
        self.set_credentials(self.config.credentials)
        self.accounts: dict[str, History[Account]] = {}
        self.balances: dict[str, History[int]] = {}
        self.nonces: dict[tuple[str, int], History[Nonce]] = {}
        self.queue: list[Pending] = []
        self.applied: list[Applied] = []
        self.transfers: list[Transfer] = []
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
        return Snapshot(self, at, at if ledger is None else ledger)

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
            if any(item.envelope.hash == envelope.hash for item in self.queue):
                return "DUPLICATE", None
            world = self.snapshot()
            close_time = self.latest.closed_at if self.config.check_time_bounds else None
            source, fee_source = world.account(envelope.source), world.account(envelope.fee_source)
            result = admission.refuse(envelope, source, fee_source, close_time)
            if result is not None:
                return "ERROR", result
            if any(item.envelope.source == envelope.source for item in self.queue):
                return "TRY_AGAIN_LATER", None
            self.queue.append(Pending(envelope))
            return "PENDING", None

    def pending(self, tx_hash: bytes) -> Pending | None:
        return next((item for item in self.queue if item.envelope.hash == tx_hash), None)

    def forget(self, tx_hash: bytes) -> None:
        """Lose a queued transaction, as networks do without telling anybody."""
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
            if not self._is_too_late(item.envelope):
                order += 1
                self._apply(item, order)

    def _is_too_late(self, envelope: Envelope) -> bool:
        latest = envelope.time_bounds[1]
        return self.config.check_time_bounds and 0 < latest < int(self.latest.closed_at)

    def _apply(self, item: Pending, order: int) -> None:
        """Charge fee and sequence in any case; keep the effects of a call that did not trap."""
        envelope, ledger = item.envelope, self.latest.sequence
        self._charge(envelope)
        args, entries, footprint = envelope.contract_call()
        call = host.Call(args, envelope.source, entries, footprint=footprint)
        try:
            if item.fail:
                raise HostError("Budget", "ExceededLimit", "made to fail")
            effects = host.invoke(call, self.snapshot())
        except HostError as error:
            shown = xdrout.error_diagnostics(self.config.token.contract, error.text)
            result, meta = xdrout.outcome(envelope, None, []), xdrout.meta(None, [], shown)
            self._record(Applied(envelope, ledger, order, False, result, meta, [], shown, error.text))
            return
        shown = xdrout.diagnostics(args, effects.events, effects.value)
        result = xdrout.outcome(envelope, effects.value, effects.events)
        meta = xdrout.meta(effects.value, effects.events, shown)
        self._keep(effects, envelope.hash.hex())
        self._record(Applied(envelope, ledger, order, True, result, meta, effects.events, shown))

    def _keep(self, effects: host.Effects, tx_hash: str) -> None:
        ledger = self.latest.sequence
        for address, balance in effects.balances.items():
            self.balances.setdefault(address, History()).put(ledger, balance)
        for used in effects.consumed:
            history = self.nonces.setdefault((used.address, used.nonce), History())
            history.put(ledger, Nonce(ledger, used.live_until))
        nonce = effects.consumed[0].nonce if effects.consumed else None
        for sender, recipient, amount in effects.moved:
            self.transfers.append(Transfer(tx_hash, ledger, sender, recipient, amount, nonce))

    def _record(self, applied: Applied) -> None:
        self.applied.append(applied)
        self._by_hash[applied.envelope.hash.hex()] = applied
        self._by_hash[applied.envelope.inner_hash.hex()] = applied

    def _charge(self, envelope: Envelope) -> None:
        for address, fee, step in (
            (envelope.fee_source, xdrout.fee_charged(envelope), 0),
            (envelope.source, 0, 1),
        ):
            account = self.account(address)
            assert account is not None
            stroops, sequence = account.stroops - fee, account.sequence + step
            changed = replace(account, stroops=stroops, sequence=sequence)
            self.accounts[address].put(self.latest.sequence, changed)

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
