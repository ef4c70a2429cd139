"""What facilitator and payer ask a Stellar RPC, as typed answers."""

import time
from dataclasses import dataclass
from typing import Any

from stellar_sdk import xdr

from provider.chain.nonces import NonceReading, read_nonce
from provider.chain.payee import account_key
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


class Node:
    """Raises RpcUnreachable when no usable answer came, RpcError when the node refused the question."""

    def __init__(self, rpc: StellarRpc | str, *, timeout_seconds: float = 10.0) -> None:
        self._rpc = StellarRpc(rpc, timeout_seconds=timeout_seconds) if isinstance(rpc, str) else rpc

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
        by_key = {account_key(address): address for address in addresses}
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

    def nonce(self, payer: str, nonce: int) -> NonceReading:
        """Read the nonce entry, and in the same answer the setting that says what its absence proves."""
        return read_nonce(self._rpc.ledger_entries, payer, nonce)

    def _call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self._rpc.call(method, params)


def _result_code(result: Any) -> str | None:
    if not isinstance(result, str):
        return None
    try:
        return xdr.TransactionResult.from_xdr(result).result.code.name
    except Exception:
        # The code is for the log and for one decision that is safe to miss.
        return "unreadable"
