"""When ledger entries change and end: write-backs, extensions, the settings of the network.

All but the last three were red while the chain kept the ledger in which a nonce was used as the one of its
last write, refused ExtendFootprintTTL and had no settings.
"""

from typing import Any

import pytest
from stellar_sdk import scval, xdr

from provider.localnet.chain import keys, settings
from provider.localnet.chain.admin import Admin
from provider.localnet.chain.model import ChainConfig
from tests.support.strangers import extend, extend_nonce, touch, touch_nonce
from tests.unit.localnet.support import Town, manual_town

ARCHIVAL = xdr.LedgerKey(
    xdr.LedgerEntryType.CONFIG_SETTING,
    config_setting=xdr.LedgerKeyConfigSetting(xdr.ConfigSettingID.CONFIG_SETTING_STATE_ARCHIVAL),
)


def entry(town: Town, key: xdr.LedgerKey) -> dict[str, Any] | None:
    found = town.rpc.call("getLedgerEntries", {"keys": [key.to_xdr()]})["entries"]
    return found[0] if found else None


def used(town: Town) -> xdr.LedgerKey:
    """Pay, and give the key of the nonce."""
    town.pay()
    nonce = town.state.transfers[-1].nonce
    assert nonce is not None
    return keys.nonce_key(town.payer.public_key, nonce)


def numbers(town: Town, key: xdr.LedgerKey) -> tuple[int, int]:
    """Ledger of the last write, and last ledger."""
    found = entry(town, key)
    assert found is not None
    return found["lastModifiedLedgerSeq"], found["liveUntilLedgerSeq"]


def test_a_stranger_moves_the_last_write_of_a_nonce(town: Town) -> None:
    key = used(town)
    created = town.ledger
    before = numbers(town, key)
    town.state.close(5)
    nonce = town.state.transfers[-1].nonce
    assert nonce is not None
    touch_nonce(town.state, town.payer.public_key, nonce)
    assert before == (created, created + 719)
    assert numbers(town, key) == (created + 6, created + 719)


def test_a_failed_call_writes_nothing_back(town: Town) -> None:
    key = used(town)
    before = numbers(town, key)
    town.faults.add("fail_next")
    call = town.transfer()
    signed = town.authorize(call)
    data = town.data(call, signed)
    data.resources.footprint.read_write.append(key)
    town.send(town.settlement(call, [signed], data=data))
    town.state.close()
    assert not town.state.applied[-1].successful
    assert numbers(town, key) == before


def test_only_what_may_be_written_is_written_back(town: Town) -> None:
    """A key in the read-only half is left alone."""
    key = used(town)
    before = numbers(town, key)
    call = town.transfer()
    signed = town.authorize(call)
    data = town.data(call, signed)
    data.resources.footprint.read_only.append(key)
    town.send(town.settlement(call, [signed], data=data))
    town.state.close()
    assert town.state.applied[-1].successful
    assert numbers(town, key) == before


def test_every_kind_of_entry_is_written_back(town: Town) -> None:
    """Account, trustline and contract data alike."""
    token = town.state.config.token
    wanted = [
        keys.account_key(town.merchant.public_key),
        keys.trustline_key(town.merchant.public_key, token),
        keys.instance_key(token.contract),
    ]
    # The call itself needs the instance: a key must not stand in both halves of a footprint.
    town.state.close(3)
    touch(town.state, *wanted[:2])
    found = [entry(town, key) for key in wanted]
    moved = [item["lastModifiedLedgerSeq"] == town.ledger for item in found if item]
    assert moved == [True, True, False]


def test_an_entry_that_ended_stays_ended(town: Town) -> None:
    """Expired temporary data counts as absent (InvokeHostFunctionOpFrame.cpp:476-485)."""
    key = used(town)
    town.state.close(720)
    assert entry(town, key) is None
    touch(town.state, key)
    assert entry(town, key) is None


def test_an_extension_moves_the_end_alone(town: Town) -> None:
    key = used(town)
    created = town.ledger
    town.state.close(10)
    extend(town.state, [key], 5_000)
    assert numbers(town, key) == (created, town.ledger + 5_000)
    found = town.get(town.state.applied[-1].envelope.hash.hex())
    result = xdr.TransactionResult.from_xdr(found["resultXdr"]).result.results
    assert result is not None
    tr = result[0].tr
    assert tr is not None
    assert tr.extend_footprint_ttl_result == xdr.ExtendFootprintTTLResult(
        xdr.ExtendFootprintTTLResultCode.EXTEND_FOOTPRINT_TTL_SUCCESS
    )


def test_an_extension_neither_shortens_nor_revives(town: Town) -> None:
    key = used(town)
    before = numbers(town, key)
    extend(town.state, [key], 10)
    assert numbers(town, key) == before
    town.state.close(720)
    extend(town.state, [key], 10_000)
    assert entry(town, key) is None


def test_an_extended_nonce_stays_used(town: Town) -> None:
    call = town.transfer()
    signed = town.authorize(call, expiration=town.ledger + 2_000)
    data = town.data(call, signed)
    town.send(town.settlement(call, [signed], data=data))
    town.state.close()
    nonce = town.state.transfers[-1].nonce
    assert nonce is not None
    extend_nonce(town.state, town.payer.public_key, nonce, 50_000)
    town.state.close(40_000)
    assert entry(town, keys.nonce_key(town.payer.public_key, nonce)) is not None


@pytest.mark.parametrize("case", ["written", "account", "too long"])
def test_an_extension_of_anything_else_is_malformed(town: Town, case: str) -> None:
    key, ledgers = used(town), 10
    footprint = ([key], [])
    if case == "written":
        footprint = ([], [key])
    elif case == "account":
        footprint = ([keys.account_key(town.payer.public_key)], [])
    else:
        ledgers = settings.MAX_ENTRY_TTL
    data = town.data(town.transfer())
    data.resources.footprint = xdr.LedgerFootprint(*footprint)
    known = town.state.account(town.facilitator.public_key)
    assert known is not None
    builder = town.builder(town.facilitator.public_key, known.sequence)
    envelope = builder.append_extend_footprint_ttl_op(ledgers).set_soroban_data(data).build()
    envelope.sign(town.facilitator)
    reply = town.send(envelope)
    result = xdr.TransactionResult.from_xdr(reply["errorResultXdr"]).result
    assert (reply["status"], result.code.name) == ("ERROR", "txFAILED")
    assert result.results is not None
    assert b"\xff\xff\xff\xff" in result.results[0].to_xdr_bytes()


def test_the_lifetime_of_temporary_entries_is_a_setting_that_can_be_read() -> None:
    """Testnet has 720 ledgers, pubnet 17 280."""
    town = manual_town(min_temporary_ttl=17_280)
    for expected, place in ((17_280, town), (720, manual_town())):
        found = entry(place, ARCHIVAL)
        assert found is not None
        assert "liveUntilLedgerSeq" not in found
        setting = xdr.LedgerEntryData.from_xdr(found["xdr"]).config_setting
        assert setting is not None
        assert setting.state_archival_settings is not None
        assert setting.state_archival_settings.min_temporary_ttl.uint32 == expected
    key = used(town)
    assert numbers(town, key) == (town.ledger, town.ledger + 17_279)


def test_the_setting_can_change_and_says_when_it_did(town: Town) -> None:
    """Entries that exist keep their end."""
    key = used(town)
    before = numbers(town, key)
    town.state.close()
    Admin(town.state, town.faults).post("settings", {"min_temporary_ttl": 16})
    found = entry(town, ARCHIVAL)
    assert found is not None
    assert found["lastModifiedLedgerSeq"] == town.ledger
    assert numbers(town, key) == before
    later = used(town)
    assert numbers(town, later) == (town.ledger, town.ledger + 15)


def test_a_lagging_node_shows_the_last_write_of_then(town: Town) -> None:
    key = used(town)
    before = numbers(town, key)
    touch(town.state, key)
    town.faults.add("lag", ledgers=1)
    assert numbers(town, key) == before


@pytest.mark.parametrize("ttl", [15, 3_110_401])
def test_a_lifetime_that_no_network_has_is_refused(ttl: int) -> None:
    with pytest.raises(ValueError, match="from 16 to"):
        ChainConfig(min_temporary_ttl=ttl)


def test_a_setting_that_this_chain_has_not_is_not_found(town: Town) -> None:
    other = xdr.ConfigSettingID.CONFIG_SETTING_CONTRACT_MAX_SIZE_BYTES
    key = xdr.LedgerKey(xdr.LedgerEntryType.CONFIG_SETTING, config_setting=xdr.LedgerKeyConfigSetting(other))
    assert entry(town, key) is None


@pytest.mark.parametrize("case", ["setting", "twice"])
def test_a_footprint_names_each_key_once_and_none_of_the_network(town: Town, case: str) -> None:
    call = town.transfer()
    signed = town.authorize(call)
    data = town.data(call, signed)
    footprint = data.resources.footprint
    footprint.read_write.append(ARCHIVAL if case == "setting" else footprint.read_only[0])
    reply = town.send(town.settlement(call, [signed], data=data))
    code = xdr.TransactionResult.from_xdr(reply["errorResultXdr"]).result.code.name
    assert (reply["status"], code) == ("ERROR", "txSOROBAN_INVALID")


def test_a_call_that_asks_nothing_touches_as_well(town: Town) -> None:
    """Also a payment of another payer does."""
    key = used(town)
    town.state.close(2)
    call = town.call(scval.to_address(town.merchant.public_key), function="balance")
    data = town.data(call)
    data.resources.footprint.read_write.append(key)
    town.send(town.settlement(call, [], data=data))
    town.state.close()
    assert numbers(town, key)[0] == town.ledger
