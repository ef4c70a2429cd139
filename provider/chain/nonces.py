"""Nonce entries, and the network's setting that says how long such entries live (standard §10).

The host makes the entry of a nonce when, and only when, a call that it authorised ran in a successful
transaction. The entry lives until the expiration of that authorisation, and at least as long as the setting
says; anybody may let it live longer. A live entry keeps the nonce from being used.

`lastModifiedLedgerSeq` is not the ledger that made it: every successful call that names the entry as
read-write writes it back, by any account and without a signature of the owner (stellar-core
InvokeHostFunctionOpFrame.cpp:780-848). It is the last ledger in which it can have been made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stellar_sdk import Address, xdr

from provider.chain.rpc import Entries

MOST_TTL = 17_280
"""Ledgers; the most that a public network ever had. A larger answer is not believed."""


@dataclass(frozen=True, slots=True)
class Window:
    """An entry made in ledger `since` or later is there for so many ledgers after its own, at least.

    Nothing is known before the setting was read.
    """

    ledgers: int = 0
    since: int = 0


@dataclass(frozen=True, slots=True)
class NonceReading:
    """What an RPC said about a nonce, as of its own `latest_ledger`."""

    latest_ledger: int
    window: Window = Window()
    modified_ledger: int | None = None
    """Ledger of the last write of the entry; None when there is no entry."""
    live_until_ledger: int = 0

    @property
    def exists(self) -> bool:
        return self.modified_ledger is not None

    def unmade(self, expiration: int, absent_in: int) -> tuple[int, int]:
        """Give the ledgers in which an authorisation was not used because its entry is absent in another.

        Its entry would live until the expiration at least, and for the network's window after its own ledger.
        """
        if absent_in <= expiration:
            return 1, absent_in - 1
        return max(absent_in - self.window.ledgers, self.window.since), expiration

    def proves_unused(self, first: int, expiration: int) -> bool:
        """Return whether an authorisation that could land from ledger `first` on did not, and never can."""
        if self.exists or self.latest_ledger <= expiration:
            return False
        return self.unmade(expiration, self.latest_ledger)[0] <= first


def nonce_key(payer: str, nonce: int) -> str:
    """Build the ledger key of a nonce (base64 XDR); its contract is the payer, a G account too."""
    key = xdr.SCVal(xdr.SCValType.SCV_LEDGER_KEY_NONCE, nonce_key=xdr.SCNonceKey(xdr.Int64(nonce)))
    data = xdr.LedgerKeyContractData(
        Address(payer).to_xdr_sc_address(), key, xdr.ContractDataDurability.TEMPORARY
    )
    return xdr.LedgerKey(xdr.LedgerEntryType.CONTRACT_DATA, contract_data=data).to_xdr()


ARCHIVAL_KEY = xdr.LedgerKey(
    xdr.LedgerEntryType.CONFIG_SETTING,
    config_setting=xdr.LedgerKeyConfigSetting(xdr.ConfigSettingID.CONFIG_SETTING_STATE_ARCHIVAL),
).to_xdr()
"""Ledger key of the setting."""


def window_of(entries: Entries) -> Window:
    """Read how long entries live at least from an answer that was asked for ARCHIVAL_KEY, too."""
    found = entries.found.get(ARCHIVAL_KEY)
    return Window(min_temporary_ttl(found.xdr) - 1, found.modified_ledger) if found else Window()


def min_temporary_ttl(entry: str) -> int:
    """Read how many ledgers temporary entries live at least, the one that made them included; else 1."""
    try:
        setting = xdr.LedgerEntryData.from_xdr(entry).config_setting
    except Exception:  # The generated decoders raise whatever a broken length or union leads to.
        setting = None
    archival = setting.state_archival_settings if setting else None
    return min(MOST_TTL, max(1, archival.min_temporary_ttl.uint32)) if archival else 1


def reading_of(entries: Entries, key: str) -> NonceReading:
    """Read the nonce entry under a key from an answer that was asked for ARCHIVAL_KEY, too."""
    entry, window = entries.found.get(key), window_of(entries)
    if entry is None:
        return NonceReading(entries.latest_ledger, window)
    return NonceReading(entries.latest_ledger, window, entry.modified_ledger, entry.live_until_ledger or 0)


def read_nonce(ask: Callable[[Sequence[str]], Entries], payer: str, nonce: int) -> NonceReading:
    """Read one nonce entry, together with the setting. Raises RpcError."""
    key = nonce_key(payer, nonce)
    return reading_of(ask([ARCHIVAL_KEY, key]), key)
