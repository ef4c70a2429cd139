"""Ledger keys and the ledger entries behind them."""

from __future__ import annotations

from stellar_sdk import Address, Keypair, StrKey, scval, xdr

from provider.localnet.chain.model import Account, Token

AUTHORIZED = 1
PERSISTENT = xdr.ContractDataDurability.PERSISTENT
TEMPORARY = xdr.ContractDataDurability.TEMPORARY
INSTANCE = xdr.SCVal(xdr.SCValType.SCV_LEDGER_KEY_CONTRACT_INSTANCE)


def account_id(address: str) -> xdr.AccountID:
    return Keypair.from_public_key(address).xdr_account_id()


def address_of_id(account: xdr.AccountID) -> str:
    key = account.account_id.ed25519
    assert key is not None
    return StrKey.encode_ed25519_public_key(key.uint256)


def account_key(address: str) -> xdr.LedgerKey:
    return xdr.LedgerKey(
        xdr.LedgerEntryType.ACCOUNT, account=xdr.LedgerKeyAccount(account_id=account_id(address))
    )


def trustline_key(address: str, token: Token) -> xdr.LedgerKey:
    line = xdr.LedgerKeyTrustLine(account_id(address), token.asset.to_trust_line_asset_xdr_object())
    return xdr.LedgerKey(xdr.LedgerEntryType.TRUSTLINE, trust_line=line)


def data_key(contract: str, key: xdr.SCVal, durability: xdr.ContractDataDurability) -> xdr.LedgerKey:
    data = xdr.LedgerKeyContractData(Address(contract).to_xdr_sc_address(), key, durability)
    return xdr.LedgerKey(xdr.LedgerEntryType.CONTRACT_DATA, contract_data=data)


def instance_key(contract: str) -> xdr.LedgerKey:
    return data_key(contract, INSTANCE, PERSISTENT)


def nonce_key(address: str, nonce: int) -> xdr.LedgerKey:
    """The key of a nonce; its contract is the payer, also when that is a G account (CAP-46-11)."""
    value = xdr.SCVal(xdr.SCValType.SCV_LEDGER_KEY_NONCE, nonce_key=xdr.SCNonceKey(xdr.Int64(nonce)))
    return data_key(address, value, TEMPORARY)


def balance_key(address: str, token: Token) -> xdr.LedgerKey:
    """Where the token keeps a balance: a trustline for a G account, contract data for a C account."""
    if address.startswith("G"):
        return trustline_key(address, token)
    owner = scval.to_vec([scval.to_symbol("Balance"), scval.to_address(address)])
    return data_key(token.contract, owner, PERSISTENT)


def account_entry(account: Account, trustlines: int) -> xdr.LedgerEntryData:
    entry = xdr.AccountEntry(
        account_id=account_id(account.address),
        balance=xdr.Int64(account.stroops),
        seq_num=xdr.SequenceNumber(xdr.Int64(account.sequence)),
        num_sub_entries=xdr.Uint32(trustlines),
        inflation_dest=None,
        flags=xdr.Uint32(0),
        home_domain=xdr.String32(b""),
        thresholds=xdr.Thresholds(b"\x01\x00\x00\x00"),
        signers=[],
        ext=xdr.AccountEntryExt(0),
    )
    return xdr.LedgerEntryData(xdr.LedgerEntryType.ACCOUNT, account=entry)


def trustline_entry(address: str, balance: int, token: Token) -> xdr.LedgerEntryData:
    entry = xdr.TrustLineEntry(
        account_id=account_id(address),
        asset=token.asset.to_trust_line_asset_xdr_object(),
        balance=xdr.Int64(balance),
        limit=xdr.Int64(2**63 - 1),
        flags=xdr.Uint32(AUTHORIZED),
        ext=xdr.TrustLineEntryExt(0),
    )
    return xdr.LedgerEntryData(xdr.LedgerEntryType.TRUSTLINE, trust_line=entry)


def data_entry(key: xdr.LedgerKey, value: xdr.SCVal) -> xdr.LedgerEntryData:
    data = key.contract_data
    assert data is not None
    entry = xdr.ContractDataEntry(
        ext=xdr.ExtensionPoint(0), contract=data.contract, key=data.key, durability=data.durability, val=value
    )
    return xdr.LedgerEntryData(xdr.LedgerEntryType.CONTRACT_DATA, contract_data=entry)


def balance_value(balance: int) -> xdr.SCVal:
    fields = {"amount": scval.to_int128(balance), "authorized": scval.to_bool(True)}
    fields["clawback"] = scval.to_bool(False)
    return scval.to_map({scval.to_symbol(name): value for name, value in fields.items()})


def token_instance(token: Token) -> xdr.SCVal:
    """The instance of an asset contract: its executable kind and the METADATA it answers from."""
    metadata = {
        scval.to_symbol("decimal"): scval.to_uint32(token.decimals),
        scval.to_symbol("name"): scval.to_string(token.name),
        scval.to_symbol("symbol"): scval.to_string(token.code),
    }
    kind = xdr.ContractExecutableType.CONTRACT_EXECUTABLE_STELLAR_ASSET
    storage = scval.to_map({scval.to_symbol("METADATA"): scval.to_map(metadata)}).map
    return _instance(xdr.ContractExecutable(kind), storage)


def wallet_instance(account: Account) -> xdr.SCVal:
    """A wallet contract; the owner's key stands where the hash of its code would be."""
    kind = xdr.ContractExecutableType.CONTRACT_EXECUTABLE_WASM
    return _instance(xdr.ContractExecutable(kind, wasm_hash=xdr.Hash(account.signer or bytes(32))), None)


def _instance(executable: xdr.ContractExecutable, storage: xdr.SCMap | None) -> xdr.SCVal:
    return xdr.SCVal(
        xdr.SCValType.SCV_CONTRACT_INSTANCE, instance=xdr.SCContractInstance(executable, storage)
    )


def address_text(address: xdr.SCAddress) -> str:
    return Address.from_xdr_sc_address(address).address


def muxed_parts(address: xdr.SCAddress) -> tuple[str, int | None]:
    """The G or C address that is meant, and the id of a muxed one."""
    if address.muxed_account is None:
        return address_text(address), None
    muxed = address.muxed_account
    return StrKey.encode_ed25519_public_key(muxed.ed25519.uint256), muxed.id.uint64
