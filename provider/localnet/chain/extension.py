"""ExtendFootprintTTL: a longer life for entries, by any account, without a write of the entries.

stellar-core ExtendFootprintTTLOpFrame.cpp: the TTL entry alone is written (132-192), so that the ledger of
the last write stays; the footprint names contract data only (doCheckValidForSoroban).
"""

from __future__ import annotations

from stellar_sdk import xdr

from provider.localnet.chain.settings import MAX_ENTRY_TTL
from provider.localnet.chain.world import Snapshot

_Code = xdr.ExtendFootprintTTLResultCode
_SOROBAN = (xdr.LedgerEntryType.CONTRACT_DATA, xdr.LedgerEntryType.CONTRACT_CODE)


def is_malformed(op: xdr.ExtendFootprintTTLOp, footprint: xdr.LedgerFootprint) -> bool:
    if footprint.read_write or any(key.type not in _SOROBAN for key in footprint.read_only):
        return True
    return op.extend_to.uint32 > MAX_ENTRY_TTL - 1


def extended(
    op: xdr.ExtendFootprintTTLOp, footprint: xdr.LedgerFootprint, world: Snapshot
) -> dict[bytes, int]:
    """The entries that live longer by this operation, each with its last ledger; dead ones are skipped."""
    last = world.ledger + op.extend_to.uint32
    found = {key.to_xdr_bytes(): world.entry(key) for key in footprint.read_only}
    return {key: last for key, entry in found.items() if entry and (entry.live_until or last) < last}


def result(code: xdr.ExtendFootprintTTLResultCode) -> xdr.OperationResultTr:
    return xdr.OperationResultTr(
        xdr.OperationType.EXTEND_FOOTPRINT_TTL, extend_footprint_ttl_result=xdr.ExtendFootprintTTLResult(code)
    )


SUCCESS, FAILURE, MALFORMED = (
    result(code)
    for code in (
        _Code.EXTEND_FOOTPRINT_TTL_SUCCESS,
        _Code.EXTEND_FOOTPRINT_TTL_RESOURCE_LIMIT_EXCEEDED,
        _Code.EXTEND_FOOTPRINT_TTL_MALFORMED,
    )
)
