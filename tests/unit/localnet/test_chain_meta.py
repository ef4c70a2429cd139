"""What the meta of a transaction says of the entries that it changed.

All were red while the chain listed no changes, so that no nonce was ever seen to be made.
"""

from stellar_sdk import xdr

from tests.support.strangers import extend, touch
from tests.unit.localnet.support import Town
from tests.unit.localnet.test_chain_entries import used


def changed(town: Town) -> list[xdr.LedgerEntryChange]:
    meta = town.state.applied[-1].meta.v4
    assert meta is not None
    return meta.operations[0].changes.ledger_entry_changes


def kinds(town: Town) -> list[tuple[str, str]]:
    """Kind of change and of entry, in the order of the meta."""
    found = []
    for change in changed(town):
        entry = change.created or change.updated or change.state
        assert entry is not None
        name = change.type.name.removeprefix("LEDGER_ENTRY_").lower()
        found.append((name, entry.data.type.name.lower()))
    return found


def test_the_meta_lists_what_a_payment_changed(town: Town) -> None:
    used(town)
    trustlines = [("state", "trustline"), ("updated", "trustline")]
    nonce = [("created", "contract_data"), ("created", "ttl")]
    assert sorted(kinds(town)) == sorted(2 * trustlines + nonce)


def test_the_meta_lists_a_write_back_as_an_update(town: Town) -> None:
    """With the ledgers of both writes: a touch creates nothing."""
    key = used(town)
    created = town.ledger
    touch(town.state, key)
    assert kinds(town) == [("state", "contract_data"), ("updated", "contract_data")]
    before, after = (change.state or change.updated for change in changed(town))
    assert before is not None
    assert after is not None
    numbers = (before.last_modified_ledger_seq.uint32, after.last_modified_ledger_seq.uint32)
    assert numbers == (created, town.ledger)


def test_the_meta_lists_an_extension_as_a_change_of_the_ttl_entry(town: Town) -> None:
    key = used(town)
    extend(town.state, [key], 5_000)
    assert kinds(town) == [("state", "ttl"), ("updated", "ttl")]
    after = changed(town)[1].updated
    assert after is not None
    assert after.data.ttl is not None
    assert after.data.ttl.live_until_ledger_seq.uint32 == town.ledger + 5_000
