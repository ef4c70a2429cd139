"""The ledger entry changes of an operation, as transaction meta lists them.

An entry that is written back unchanged is listed like one that changed: its ledger of the last write did
(InvokeHostFunctionOpFrame.cpp:845-848). A new life of contract data is a change of its TTL entry alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stellar_sdk import xdr
from stellar_sdk.utils import sha256

from provider.localnet.chain.world import Snapshot, StoredEntry

_Type = xdr.LedgerEntryChangeType

Seen = Mapping[bytes, tuple[xdr.LedgerKey, StoredEntry | None]]


def seen(keys: list[xdr.LedgerKey], world: Snapshot) -> Seen:
    """The entries behind some keys, to be compared with later."""
    return {key.to_xdr_bytes(): (key, world.entry(key)) for key in keys}


def since(before: Seen, world: Snapshot) -> xdr.LedgerEntryChanges:
    """What became of those entries."""
    found: list[xdr.LedgerEntryChange] = []
    for key, was in before.values():
        now = world.entry(key)
        if now is not None:
            found += [*_entry_changes(was, now), *_ttl_changes(key, was, now)]
    return xdr.LedgerEntryChanges(found)


def _entry_changes(was: StoredEntry | None, now: StoredEntry) -> Iterator[xdr.LedgerEntryChange]:
    if was is None or (was.modified, was.data) != (now.modified, now.data):
        before = None if was is None else _ledger_entry(was.data, was.modified)
        yield from _change(before, _ledger_entry(now.data, now.modified))


def _ttl_changes(
    key: xdr.LedgerKey, was: StoredEntry | None, now: StoredEntry
) -> Iterator[xdr.LedgerEntryChange]:
    if now.live_until is None or (was is not None and was.live_until == now.live_until):
        return
    digest = sha256(key.to_xdr_bytes())
    before = None if was is None else _ttl_entry(digest, was)
    yield from _change(before, _ttl_entry(digest, now))


def _change(before: xdr.LedgerEntry | None, after: xdr.LedgerEntry) -> Iterator[xdr.LedgerEntryChange]:
    if before is None:
        yield xdr.LedgerEntryChange(_Type.LEDGER_ENTRY_CREATED, created=after)
        return
    yield xdr.LedgerEntryChange(_Type.LEDGER_ENTRY_STATE, state=before)
    yield xdr.LedgerEntryChange(_Type.LEDGER_ENTRY_UPDATED, updated=after)


def _ttl_entry(digest: bytes, entry: StoredEntry) -> xdr.LedgerEntry:
    ttl = xdr.TTLEntry(xdr.Hash(digest), xdr.Uint32(entry.live_until or 0))
    return _ledger_entry(xdr.LedgerEntryData(xdr.LedgerEntryType.TTL, ttl=ttl), entry.extended)


def _ledger_entry(data: xdr.LedgerEntryData, modified: int) -> xdr.LedgerEntry:
    return xdr.LedgerEntry(xdr.Uint32(modified), data, xdr.LedgerEntryExt(0))
