"""The chain as it was after some ledger: what calls, ledger entries and lagging nodes read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stellar_sdk import scval, xdr

from provider.localnet.chain import keys, settings
from provider.localnet.chain.books import Books
from provider.localnet.chain.model import Account, History, Token


@dataclass(frozen=True)
class StoredEntry:
    """A ledger entry and the ledger of its last write; for contract data its last ledger, and since when."""

    data: xdr.LedgerEntryData
    modified: int
    live_until: int | None = None
    extended: int = 0


class Snapshot:
    """`at` is the last ledger that counts, `ledger` the one that a call would run in."""

    token: Token

    def __init__(self, books: Books, at: int, ledger: int) -> None:
        self._books, self.at, self.ledger = books, at, ledger
        self.token, self.passphrase = books.config.token, books.config.passphrase
        self._setting = books.min_temporary_ttl.at(at) or (0, books.config.min_temporary_ttl)

    @property
    def min_temporary_ttl(self) -> int:
        return self._setting[1]

    def account(self, address: str) -> Account | None:
        history = self._books.accounts.get(address)
        found = history.at(self.at) if history else None
        return found[1] if found else None

    def balance(self, address: str) -> int:
        return self._balance(address)[1]

    def has_nonce(self, address: str, nonce: int) -> bool:
        """Return whether the nonce was consumed and its entry still lives."""
        return self._temporary_entry(keys.nonce_key(address, nonce)) is not None

    def entry(self, key: xdr.LedgerKey) -> StoredEntry | None:
        """The entry behind a key, if it lives: expired temporary data is not found.

        Its last write may be a mere write-back (stellar-core ParallelApplyUtils.cpp:900-944).
        """
        found, raw = self._entry(key), key.to_xdr_bytes()
        if found is None:
            return None
        _, written = self._last(self._books.written, raw) or (0, 0)
        return replace(found, modified=max(found.modified, written))

    def _entry(self, key: xdr.LedgerKey) -> StoredEntry | None:
        if key.account is not None:
            return self._account_entry(keys.address_of_id(key.account.account_id))
        if key.trust_line is not None:
            return self._trustline_entry(keys.address_of_id(key.trust_line.account_id), key)
        if key.config_setting is not None:
            modified, ledgers = self._setting
            data = settings.entry(key.config_setting.config_setting_id, ledgers)
            return StoredEntry(data, modified) if data else None
        return self._data_entry(key) if key.contract_data is not None else None

    def _balance(self, address: str) -> tuple[int, int]:
        history = self._books.balances.get(address)
        return (history.at(self.at) if history else None) or (self.at, 0)

    def _account_entry(self, address: str) -> StoredEntry | None:
        history = self._books.accounts.get(address)
        found = history.at(self.at) if history else None
        return StoredEntry(keys.account_entry(found[1], int(found[1].trustline)), found[0]) if found else None

    def _trustline_entry(self, address: str, key: xdr.LedgerKey) -> StoredEntry | None:
        account = self.account(address)
        wanted = keys.trustline_key(address, self.token).to_xdr_bytes()
        if account is None or not account.trustline or key.to_xdr_bytes() != wanted:
            return None
        modified, balance = self._balance(address)
        return StoredEntry(keys.trustline_entry(address, balance, self.token), modified)

    def _data_entry(self, key: xdr.LedgerKey) -> StoredEntry | None:
        data = key.contract_data
        assert data is not None
        if data.durability == keys.TEMPORARY:
            return self._temporary_entry(key)
        if data.key == keys.INSTANCE:
            return self._instance_entry(keys.address_text(data.contract), key)
        owner = keys.address_text(data.contract)
        return self._balance_entry(key) if owner == self.token.contract else None

    def _temporary_entry(self, key: xdr.LedgerKey) -> StoredEntry | None:
        """A nonce entry, the only temporary data that this chain has.

        It lives up to and with its last ledger (stellar-core LedgerTypeUtils.cpp:18-22).
        """
        extended, last = self._last(self._books.live_until, key.to_xdr_bytes()) or (0, 0)
        if last < self.ledger:
            return None
        void = xdr.SCVal(xdr.SCValType.SCV_VOID)
        return StoredEntry(keys.data_entry(key, void), 0, last, extended)

    def _instance_entry(self, owner: str, key: xdr.LedgerKey) -> StoredEntry | None:
        account = self.account(owner)
        if owner == self.token.contract:
            value = keys.token_instance(self.token)
        elif account is not None and account.signer is not None:
            value = keys.wallet_instance(account)
        else:
            return None
        return self._lasting(key, value, self._books.config.start_ledger)

    def _balance_entry(self, key: xdr.LedgerKey) -> StoredEntry | None:
        """The balance of a C account. Those of G accounts are trustlines, so their key finds nothing."""
        data = key.contract_data
        assert data is not None
        parts = data.key.vec.sc_vec if data.key.vec else []
        if len(parts) != 2 or parts[0] != scval.to_symbol("Balance") or parts[1].address is None:
            return None
        owner = keys.address_text(parts[1].address)
        if not owner.startswith("C") or owner not in self._books.balances:
            return None
        modified, balance = self._balance(owner)
        return self._lasting(key, keys.balance_value(balance), modified)

    def _lasting(self, key: xdr.LedgerKey, value: xdr.SCVal, modified: int) -> StoredEntry:
        """A persistent entry: none ever runs out here."""
        extended, last = self._last(self._books.live_until, key.to_xdr_bytes()) or (0, 0)
        last = max(last, self.at + settings.MIN_PERSISTENT_TTL)
        return StoredEntry(keys.data_entry(key, value), modified, last, extended)

    def _last(self, table: dict[bytes, History[int]], key: bytes) -> tuple[int, int] | None:
        """The last change of a number, as (ledger of the change, number)."""
        return table[key].at(self.at) if key in table else None
