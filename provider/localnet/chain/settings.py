"""The network settings (CONFIG_SETTING entries) that this chain shows."""

from __future__ import annotations

from stellar_sdk import xdr

MAX_ENTRY_TTL = 3_110_400
MIN_PERSISTENT_TTL = 120_960
TESTNET_TEMPORARY_TTL = 720
"""stellar-core soroban-settings/testnet_settings_upgrade.json:927-929; pubnet has 17 280.

The other numbers are those of testnet in September 2026, too.
"""
LOWEST_TEMPORARY_TTL = 16
"""stellar-core NetworkConfig.h:40."""

_Id = xdr.ConfigSettingID


def checked_temporary_ttl(ledgers: int) -> int:
    """Give it back if stellar-core would take it. Raises ValueError."""
    if not LOWEST_TEMPORARY_TTL <= ledgers <= MAX_ENTRY_TTL:
        raise ValueError(
            f"the minimum temporary TTL is a number from {LOWEST_TEMPORARY_TTL} to {MAX_ENTRY_TTL}"
        )
    return ledgers


def entry(setting: xdr.ConfigSettingID, min_temporary_ttl: int) -> xdr.LedgerEntryData | None:
    """The entry of a setting, or None for one that this chain has not."""
    if setting != _Id.CONFIG_SETTING_STATE_ARCHIVAL:
        return None
    found = xdr.ConfigSettingEntry(setting, state_archival_settings=_state_archival(min_temporary_ttl))
    return xdr.LedgerEntryData(xdr.LedgerEntryType.CONFIG_SETTING, config_setting=found)


def _state_archival(min_temporary_ttl: int) -> xdr.StateArchivalSettings:
    return xdr.StateArchivalSettings(
        max_entry_ttl=xdr.Uint32(MAX_ENTRY_TTL),
        min_temporary_ttl=xdr.Uint32(min_temporary_ttl),
        min_persistent_ttl=xdr.Uint32(MIN_PERSISTENT_TTL),
        persistent_rent_rate_denominator=xdr.Int64(1_215),
        temp_rent_rate_denominator=xdr.Int64(2_430),
        max_entries_to_archive=xdr.Uint32(1_000),
        live_soroban_state_size_window_sample_size=xdr.Uint32(30),
        live_soroban_state_size_window_sample_period=xdr.Uint32(64),
        eviction_scan_size=xdr.Uint32(500_000),
        starting_eviction_scan_level=xdr.Uint32(7),
    )
