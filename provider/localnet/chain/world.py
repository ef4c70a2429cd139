"""The chain as it was after some ledger: what calls, ledger entries and lagging nodes read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stellar_sdk import scval, xdr

from provider.localnet.chain import keys
from provider.localnet.chain.model import Account, Nonce

if TYPE_CHECKING:
    from provider.localnet.chain.state import ChainState

# Entries of the persistent kind never run out here; the number is a network's initial rent.
PERSISTENT_TTL = 120_960

Entry = tuple[xdr.LedgerEntryData, int, int | None]


class Snapshot:
    """`at` is the last ledger that counts, `ledger` the one that a call would run in."""

    def __init__(self, state: ChainState, at: int, ledger: int) -> None:
        self._state, self.at, self.ledger = state, at, ledger
        self.token, self.passphrase = state.config.token, state.config.passphrase
        self.min_temporary_ttl = state.config.min_temporary_ttl

    def account(self, address: str) -> Account | None:
        history = self._state.accounts.get(address)
        found = history.at(self.at) if history else None
        return found[1] if found else None

    def balance(self, address: str) -> int:
        return self._balance(address)[1]

    def nonce(self, address: str, nonce: int) -> Nonce | None:
        """The consumed nonce, while its entry lives."""
        history = self._state.nonces.get((address, nonce))
        found = history.at(self.at) if history else None
        return found[1] if found and found[1].live_until >= self.ledger else None

    def entry(self, key: xdr.LedgerKey) -> Entry | None:
        """The entry data, the ledger of its last change and, for contract data, its last ledger."""
        if key.account is not None:
            return self._account_entry(keys.address_of_id(key.account.account_id))
        if key.trust_line is not None:
            return self._trustline_entry(keys.address_of_id(key.trust_line.account_id), key)
        return self._data_entry(key) if key.contract_data is not None else None

    def _balance(self, address: str) -> tuple[int, int]:
        history = self._state.balances.get(address)
        return (history.at(self.at) if history else None) or (self.at, 0)

    def _account_entry(self, address: str) -> Entry | None:
        history = self._state.accounts.get(address)
        found = history.at(self.at) if history else None
        return (keys.account_entry(found[1], int(found[1].trustline)), found[0], None) if found else None

    def _trustline_entry(self, address: str, key: xdr.LedgerKey) -> Entry | None:
        account = self.account(address)
        wanted = keys.trustline_key(address, self.token).to_xdr_bytes()
        if account is None or not account.trustline or key.to_xdr_bytes() != wanted:
            return None
        modified, balance = self._balance(address)
        return keys.trustline_entry(address, balance, self.token), modified, None

    def _data_entry(self, key: xdr.LedgerKey) -> Entry | None:
        data = key.contract_data
        assert data is not None
        owner = keys.address_text(data.contract)
        if data.key.nonce_key is not None:
            return self._nonce_entry(owner, data.key.nonce_key.nonce.int64, key)
        if data.durability != keys.PERSISTENT:
            return None
        if data.key == keys.INSTANCE:
            return self._instance_entry(owner, key)
        return self._balance_entry(key) if owner == self.token.contract else None

    def _nonce_entry(self, owner: str, nonce: int, key: xdr.LedgerKey) -> Entry | None:
        used = self.nonce(owner, nonce)
        assert key.contract_data is not None
        if used is None or key.contract_data.durability != keys.TEMPORARY:
            return None
        void = xdr.SCVal(xdr.SCValType.SCV_VOID)
        return keys.data_entry(key, void), used.created, used.live_until

    def _instance_entry(self, owner: str, key: xdr.LedgerKey) -> Entry | None:
        account = self.account(owner)
        if owner == self.token.contract:
            value = keys.token_instance(self.token)
        elif account is not None and account.signer is not None:
            value = keys.wallet_instance(account)
        else:
            return None
        return keys.data_entry(key, value), self._state.config.start_ledger, self.at + PERSISTENT_TTL

    def _balance_entry(self, key: xdr.LedgerKey) -> Entry | None:
        """The balance of a C account. Those of G accounts are trustlines, so their key finds nothing."""
        data = key.contract_data
        assert data is not None
        parts = data.key.vec.sc_vec if data.key.vec else []
        if len(parts) != 2 or parts[0] != scval.to_symbol("Balance") or parts[1].address is None:
            return None
        owner = keys.address_text(parts[1].address)
        if not owner.startswith("C") or owner not in self._state.balances:
            return None
        modified, balance = self._balance(owner)
        return keys.data_entry(key, keys.balance_value(balance)), modified, self.at + PERSISTENT_TTL
