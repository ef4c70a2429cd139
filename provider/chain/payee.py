"""Can an account receive the token? Read from ledger entries, in two calls.

A G account keeps the token of a Stellar asset contract in a trustline of the classic asset. Which asset that
is, the contract's instance tells: an entry `METADATA` whose `name` is the SEP-11 name, `CODE:ISSUER`.
"""

from dataclasses import dataclass

from stellar_sdk import Address, Asset, Keypair, scval, xdr

from provider.chain.rpc import StellarRpc
from provider.errors import RpcError

AUTHORIZED = 1
"""Flag of a trustline that may receive."""


@dataclass(frozen=True, slots=True)
class Trustline:
    """What a payee may still receive, in atomic units, and whether the issuer allows it."""

    asset: str
    room: int
    authorized: bool


@dataclass(frozen=True, slots=True)
class Payee:
    """What the chain knows about a G account that is to be paid."""

    exists: bool
    asset: str
    """`CODE:ISSUER`; `native`; empty for a token that is no Stellar asset contract."""
    needs_trustline: bool = False
    """Its issuer needs none: what an issuer is paid is burnt."""
    trustline: Trustline | None = None


def read_payee(rpc: StellarRpc, address: str, contract: str) -> Payee:
    """Look up an account (G…) and its trustline for the token of a contract (C…).

    Raises:
        RpcError: no answer, or there is no such contract.
    """
    account, instance = account_key(address), instance_key(contract)
    found = rpc.ledger_entries([account, instance]).found
    if instance not in found:
        raise RpcError(f"getLedgerEntries: no contract {contract}")
    asset = asset_name(found[instance].xdr)
    exists, issuer = account in found, asset.partition(":")[2]
    if not exists or issuer in ("", address):
        return Payee(exists, asset)
    line = trustline_key(address, asset)
    entry = rpc.ledger_entries([line]).found.get(line)
    return Payee(exists, asset, True, read_trustline(asset, entry.xdr) if entry else None)


def account_key(address: str) -> str:
    """Build the ledger key of a G account (base64 XDR)."""
    account = xdr.LedgerKeyAccount(Keypair.from_public_key(address).xdr_account_id())
    return xdr.LedgerKey(xdr.LedgerEntryType.ACCOUNT, account=account).to_xdr()


def instance_key(contract: str) -> str:
    """Build the ledger key of a contract's instance (base64 XDR)."""
    key = xdr.SCVal(xdr.SCValType.SCV_LEDGER_KEY_CONTRACT_INSTANCE)
    owner = Address(contract).to_xdr_sc_address()
    data = xdr.LedgerKeyContractData(owner, key, xdr.ContractDataDurability.PERSISTENT)
    return xdr.LedgerKey(xdr.LedgerEntryType.CONTRACT_DATA, contract_data=data).to_xdr()


def trustline_key(address: str, asset: str) -> str:
    """Build the ledger key of a trustline (base64 XDR); `asset` is `CODE:ISSUER`."""
    code, _, issuer = asset.partition(":")
    account = Keypair.from_public_key(address).xdr_account_id()
    line = xdr.LedgerKeyTrustLine(account, Asset(code, issuer).to_trust_line_asset_xdr_object())
    return xdr.LedgerKey(xdr.LedgerEntryType.TRUSTLINE, trust_line=line).to_xdr()


def asset_name(instance: str) -> str:
    """Read the name of the classic asset from the instance of its contract; empty for another contract."""
    value = _instance_of(instance)
    if value is None or not _is_asset_contract(value) or value.storage is None:
        return ""
    stored = {item.key: item.val for item in value.storage.sc_map}
    metadata = stored.get(scval.to_symbol("METADATA"))
    names = [] if metadata is None or metadata.map is None else metadata.map.sc_map
    texts = [item.val.str.sc_string for item in names if item.key == _NAME and item.val.str is not None]
    return texts[0].decode() if texts else ""


_NAME = scval.to_symbol("name")


def issuer_of(instance: str) -> str | None:
    """Read the issuer of a token from its contract's instance; empty if it has none, None if unreadable."""
    try:
        name, value = asset_name(instance), _instance_of(instance)
    except Exception:  # The generated decoders raise whatever a broken length or union leads to.
        return None
    if name:
        return name.partition(":")[2]
    return None if value is None or _is_asset_contract(value) else ""


def _instance_of(instance: str) -> xdr.SCContractInstance | None:
    data = xdr.LedgerEntryData.from_xdr(instance).contract_data
    return data.val.instance if data else None


def _is_asset_contract(value: xdr.SCContractInstance) -> bool:
    return value.executable.type == xdr.ContractExecutableType.CONTRACT_EXECUTABLE_STELLAR_ASSET


def read_trustline(asset: str, entry: str) -> Trustline:
    """Read a trustline. Offers to buy reserve room, too."""
    line = xdr.LedgerEntryData.from_xdr(entry).trust_line
    if line is None:
        raise RpcError("getLedgerEntries: another entry than a trustline")
    reserved = line.ext.v1.liabilities.buying.int64 if line.ext.v1 else 0
    room = line.limit.int64 - line.balance.int64 - reserved
    return Trustline(asset, room, bool(line.flags.uint32 & AUTHORIZED))
