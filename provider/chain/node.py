"""What facilitator and payer ask a Stellar RPC, as typed answers."""

import time
from dataclasses import dataclass
from typing import Any

from stellar_sdk import Address, Keypair, xdr

from provider.chain.rpc import StellarRpc
from provider.errors import RpcError, RpcUnreachable


@dataclass(frozen=True, slots=True)
class Clock:
    """The last ledger of the node and when it closed (Unix seconds)."""

    ledger: int
    closed_at: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a call would do and need; `error` is set when the chain would refuse it."""

    error: str | None = None
    transaction_data: str = ""
    min_resource_fee: int = 0
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """The answer to sendTransaction; `code` names the result of an ERROR."""

    status: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to getTransaction: SUCCESS, FAILED or NOT_FOUND, and the node's range of time."""

    status: str
    ledger: int | None
    latest: Clock
    oldest_close_time: int


@dataclass(frozen=True, slots=True)
class NonceEntry:
    """What a node at `ledger` said of a nonce entry, and how long such an entry lives at least.

    `lifetime` is the network's setting as of ledger `since`, the one of the entry's creation counted; 0 if
    it is unknown.
    """

    ledger: int
    exists: bool
    lifetime: int = 0
    since: int = 0

    def proves_unused(self, first: int, expiration: int) -> bool:
        """Return whether an authorisation that could land from ledger `first` on did not, and never can.

        Absence is a proof only while an entry made in the first of those ledgers would still be there.
        """
        if self.exists or self.since > first:
            return False
        return expiration < self.ledger < first + self.lifetime


class Node:
    """Raises RpcUnreachable when no usable answer came, RpcError when the node refused the question."""

    def __init__(self, url: str, *, timeout_seconds: float = 10.0) -> None:
        self._rpc = StellarRpc(url, timeout_seconds=timeout_seconds)

    def passphrase(self) -> str:
        return str(self._call("getNetwork").get("passphrase"))

    def clock(self) -> Clock:
        """Read the last ledger; a node that calls itself unhealthy still knows it."""
        try:
            answer = self._call("getHealth")
            ledger, closed_at = answer["latestLedger"], answer.get("latestLedgerCloseTime")
        except RpcUnreachable:
            raise
        except (RpcError, KeyError):
            answer = self._call("getLatestLedger")
            ledger, closed_at = answer["sequence"], answer.get("closeTime")
        return Clock(int(ledger), int(closed_at or time.time()))

    def simulate(self, transaction: str) -> Simulation:
        """Run a transaction whose entries are signed: the node enforces them."""
        answer = self._call("simulateTransaction", {"transaction": transaction})
        if answer.get("error") is not None or "transactionData" not in answer:
            return Simulation(error=str(answer.get("error") or "the node gave no transaction data"))
        if answer.get("restorePreamble"):
            return Simulation(error="an archived entry has to be restored first")
        events = tuple(str(event) for event in answer.get("events") or ())
        return Simulation(None, str(answer["transactionData"]), int(answer["minResourceFee"]), events)

    def sequences(self, addresses: list[str]) -> dict[str, int]:
        """The sequence numbers of those accounts that exist."""
        by_key = {_account_key(address).to_xdr(): address for address in addresses}
        found = {}
        for entry in self._call("getLedgerEntries", {"keys": list(by_key)}).get("entries") or ():
            account = xdr.LedgerEntryData.from_xdr(entry["xdr"]).account
            if account is not None:
                found[by_key[entry["key"]]] = account.seq_num.sequence_number.int64
        return found

    def send(self, envelope: str) -> Sent:
        answer = self._call("sendTransaction", {"transaction": envelope})
        return Sent(str(answer.get("status")), _result_code(answer.get("errorResultXdr")))

    def transaction(self, tx_hash: str) -> Found:
        answer = self._call("getTransaction", {"hash": tx_hash})
        latest = Clock(int(answer["latestLedger"]), int(answer["latestLedgerCloseTime"]))
        ledger = answer.get("ledger")
        oldest = int(answer.get("oldestLedgerCloseTime") or 0)
        return Found(str(answer["status"]), None if ledger is None else int(ledger), latest, oldest)

    def nonce(self, payer: str, nonce: int) -> NonceEntry:
        """Read the nonce entry, and in the same answer the setting that says what its absence proves."""
        key = nonce_key(payer, nonce).to_xdr()
        answer = self._call("getLedgerEntries", {"keys": [_ARCHIVAL_KEY, key]})
        found = {entry["key"]: entry for entry in answer.get("entries") or ()}
        ledger, setting = int(answer["latestLedger"]), found.get(_ARCHIVAL_KEY)
        if setting is None:
            return NonceEntry(ledger, key in found)
        lifetime, since = _lifetime(setting["xdr"]), int(setting["lastModifiedLedgerSeq"])
        return NonceEntry(ledger, key in found, lifetime, since)

    def _call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self._rpc.call(method, params)


def nonce_key(payer: str, nonce: int) -> xdr.LedgerKey:
    """The key of a nonce entry; its contract is the payer, also when that is an account."""
    key = xdr.SCVal(xdr.SCValType.SCV_LEDGER_KEY_NONCE, nonce_key=xdr.SCNonceKey(xdr.Int64(nonce)))
    durability = xdr.ContractDataDurability.TEMPORARY
    data = xdr.LedgerKeyContractData(Address(payer).to_xdr_sc_address(), key, durability)
    return xdr.LedgerKey(xdr.LedgerEntryType.CONTRACT_DATA, contract_data=data)


_ARCHIVAL_KEY = xdr.LedgerKey(
    xdr.LedgerEntryType.CONFIG_SETTING,
    config_setting=xdr.LedgerKeyConfigSetting(xdr.ConfigSettingID.CONFIG_SETTING_STATE_ARCHIVAL),
).to_xdr()


def _lifetime(entry: str) -> int:
    """Ledgers that temporary entries live at least, by the network's setting; 0 if it cannot be read."""
    try:
        setting = xdr.LedgerEntryData.from_xdr(entry).config_setting
    except Exception:  # The generated decoders raise whatever a broken length or union leads to.
        return 0
    archival = setting.state_archival_settings if setting else None
    return archival.min_temporary_ttl.uint32 if archival else 0


def _account_key(address: str) -> xdr.LedgerKey:
    account = xdr.LedgerKeyAccount(Keypair.from_public_key(address).xdr_account_id())
    return xdr.LedgerKey(xdr.LedgerEntryType.ACCOUNT, account=account)


def _result_code(result: Any) -> str | None:
    if not isinstance(result, str):
        return None
    try:
        return xdr.TransactionResult.from_xdr(result).result.code.name
    except Exception:
        # The code is for the log and for one decision that is safe to miss.
        return "unreadable"
