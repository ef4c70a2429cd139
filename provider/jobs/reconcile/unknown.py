"""Payments to our account that no job of this store knows, as when another store sells for the account."""

from stellar_sdk import scval

from provider.chain.rpc import StellarRpc
from provider.jobs.store.claims import ClaimKeys
from provider.jobs.store.jobs import JobStore

MOST_LEDGERS = 9_000
"""Ledgers that are looked through: an RPC searches 10 000 in one request, some twelve hours."""
MOST_EVENTS = 1_000


def unknown_payments(rpc: StellarRpc, store: JobStore, pay_to: str, asset: str) -> list[str]:
    """List the transactions of the last hours that paid us and are the receipt of no job, newest first.

    Transfers that were never a payment for a job are among them. Raises RpcError or StoreUnavailable.
    """
    health = rpc.health()
    first = max(health.oldest_ledger, health.latest_ledger - MOST_LEDGERS)
    topics = [scval.to_symbol("transfer").to_xdr(), "*", scval.to_address(pay_to).to_xdr(), "**"]
    filters = [{"type": "contract", "contractIds": [asset], "topics": [topics]}]
    page = rpc.events(filters, first=first, last=health.latest_ledger, limit=MOST_EVENTS)
    hashes = list(dict.fromkeys(event.transaction for event in reversed(page.items)))
    known = ClaimKeys(store).receipts(hashes)
    return [tx_hash for tx_hash, job_id in zip(hashes, known, strict=True) if job_id is None]
