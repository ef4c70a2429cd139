"""What a transaction says about a nonce: real ledger data, and envelopes made to deceive."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import Keypair, scval, xdr

from provider.chain.nonces import ARCHIVAL_KEY, MOST_TTL, min_temporary_ttl, nonce_key
from provider.chain.onchain import (
    Transfer,
    Use,
    event_amount,
    look_of,
    looks_of,
    nonces_of,
    use_of_nonce,
)
from provider.chain.rpc import Event, Transaction
from provider.networks import PUBNET, TESTNET, USDC
from provider.payments.models import PaymentRequirements
from tests.support.payments import PASSPHRASES, envelope, signed_entry, transfer

FIXTURES = Path(__file__).parents[2] / "fixtures"
REAL = json.loads((FIXTURES / "testnet_usdc_x402_settlement_37d52f31.json").read_text())
PAYER, PAYEE, OTHER = Keypair.random(), Keypair.random(), Keypair.random()
OFFER = PaymentRequirements(TESTNET, USDC[TESTNET], 500_000, PAYEE.public_key, 60)
NONCE = 7


def wanted(**changes: Any) -> Transfer:
    transfer = Transfer(OFFER.asset, PAYER.public_key, OFFER.pay_to, OFFER.amount, NONCE)
    return replace(transfer, **changes)


def entry(offer: PaymentRequirements = OFFER, signer: Keypair = PAYER, nonce: int = NONCE) -> Any:
    call = transfer(offer, signer.public_key)
    return signed_entry(call, signer, 100, nonce, PASSPHRASES[TESTNET], "address")


def settled(call: Any, auth: list[Any], **changes: Any) -> Transaction:
    text = envelope(call, auth, PASSPHRASES[TESTNET])
    return replace(Transaction("SUCCESS", "ab" * 32, 10, text), **changes)


def test_a_real_settlement_used_its_nonce() -> None:
    found = Transaction("SUCCESS", REAL["txHash"], REAL["ledger"], REAL["envelopeXdr"])
    real = Transfer(REAL["asset"], REAL["payer"], REAL["payTo"], int(REAL["amount"]), int(REAL["nonce"]))
    assert use_of_nonce(found, real) is Use.PAID
    assert nonces_of(found) == {(REAL["payer"], int(REAL["nonce"]))}
    assert use_of_nonce(replace(found, status="FAILED"), real) is Use.NONE
    assert use_of_nonce(found, replace(real, nonce=real.nonce + 1)) is Use.NONE
    assert use_of_nonce(found, replace(real, payer=real.pay_to)) is Use.NONE


def test_the_nonce_key_is_that_of_the_real_footprint() -> None:
    assert nonce_key(REAL["payer"], int(REAL["nonce"])) == REAL["nonceLedgerKeyXdr"]
    contract = USDC[TESTNET]
    key = xdr.LedgerKey.from_xdr(nonce_key(contract, -1)).contract_data
    assert key is not None
    assert key.contract.contract_id is not None


def test_a_real_transfer_event_fits_the_topics_and_tells_its_amount() -> None:
    event = xdr.ContractEvent.from_xdr(REAL["contractEventXdr"]).body.v0
    assert event is not None
    topics = tuple(topic.to_xdr() for topic in event.topics)
    seen = Event(REAL["ledger"], REAL["asset"], REAL["txHash"], topics, event.data.to_xdr())
    real = Transfer(REAL["asset"], REAL["payer"], REAL["payTo"], int(REAL["amount"]), int(REAL["nonce"]))
    assert [look_of(seen)] == looks_of(real, "GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5")


@pytest.mark.parametrize(
    ("issuer", "parties"),
    [
        ("", [["transfer", "payer", "payee"]]),
        ("payee", [["burn", "payer"]]),
        ("payer", [["mint", "payee"]]),
        (None, [["transfer", "payer", "payee"], ["burn", "payer"], ["mint", "payee"]]),
    ],
)
def test_payments_of_an_issuer_look_otherwise(issuer: str | None, parties: list[list[str]]) -> None:
    """An asset contract makes and destroys what its issuer pays and is paid; an unknown one may be either."""
    addresses = {"payer": PAYER.public_key, "payee": PAYEE.public_key}
    looks = looks_of(wanted(), issuer if issuer is None else addresses.get(issuer, issuer))
    spelled = [
        [scval.to_symbol(kind).to_xdr(), *(scval.to_address(addresses[one]).to_xdr() for one in some)]
        for kind, *some in parties
    ]
    assert [list(topics) for _, topics, _ in looks] == spelled


def test_the_amount_of_a_real_event_with_a_memo_is_in_a_map() -> None:
    real = json.loads((FIXTURES / "testnet_usdc_transfer_event_cap67_map.json").read_text())
    event = xdr.ContractEvent.from_xdr(real["contractEventXdr"]).body.v0
    assert event is not None
    assert event_amount(event.data.to_xdr()) == 10_000_000


@pytest.mark.parametrize("value", ["", "junk", scval.to_void().to_xdr(), scval.to_map({}).to_xdr()])
def test_data_without_an_amount_has_none(value: str) -> None:
    assert event_amount(value) is None


@pytest.mark.parametrize(
    "change",
    [{"asset": USDC[PUBNET]}, {"pay_to": OTHER.public_key}, {"amount": 1}],
    ids=["asset", "payee", "amount"],
)
def test_a_call_that_is_not_ours_spent_the_nonce(change: dict[str, Any]) -> None:
    found = settled(transfer(OFFER, PAYER.public_key), [entry()])
    assert use_of_nonce(found, wanted(**change)) is Use.SPENT


def test_an_entry_that_no_call_asked_for_was_not_used() -> None:
    """Anybody can attach our payer's entry to a call of his own that succeeds without it."""
    found = settled(transfer(OFFER, OTHER.public_key), [entry(signer=OTHER, nonce=1), entry()])
    assert use_of_nonce(replace(found, meta=meta_creating(1)), wanted()) is Use.NONE
    assert use_of_nonce(found, wanted()) is Use.UNCLEAR


def test_a_payer_who_is_the_source_did_not_need_his_entry() -> None:
    """The host may take the source's own signature, and two unused nonces would pass for two payments."""
    found = settled(transfer(OFFER, PAYER.public_key), [entry()])
    raw = xdr.TransactionEnvelope.from_xdr(found.envelope)
    assert raw.v1 is not None
    key = xdr.Uint256(PAYER.raw_public_key())
    raw.v1.tx.source_account = xdr.MuxedAccount(xdr.CryptoKeyType.KEY_TYPE_ED25519, ed25519=key)
    assert use_of_nonce(replace(found, envelope=raw.to_xdr()), wanted()) is Use.UNCLEAR


def test_of_two_entries_for_one_call_nobody_can_tell_which_was_used() -> None:
    found = settled(transfer(OFFER, PAYER.public_key), [entry(), entry(nonce=8)])
    assert [use_of_nonce(found, wanted(nonce=nonce)) for nonce in (7, 8)] == [Use.UNCLEAR, Use.UNCLEAR]


def test_the_meta_tells_which_of_two_entries_was_used() -> None:
    found = settled(transfer(OFFER, PAYER.public_key), [entry(), entry(nonce=8)], meta=meta_creating(8))
    assert [use_of_nonce(found, wanted(nonce=nonce)) for nonce in (7, 8)] == [Use.NONE, Use.PAID]


def test_a_transfer_inside_another_call_is_told_by_the_meta() -> None:
    """A facilitator may settle through a contract of its own: the call is another, the entry is ours."""
    router = transfer(OFFER, OTHER.public_key)
    assert use_of_nonce(settled(router, [entry()]), wanted()) is Use.UNCLEAR
    assert use_of_nonce(settled(router, [entry()], meta=meta_creating(NONCE)), wanted()) is Use.PAID


def test_of_two_entries_under_one_nonce_that_of_the_call_was_used() -> None:
    """The payer signed one nonce for two calls and sends both entries."""
    cheap = replace(OFFER, amount=1)
    for offer, expected in ((OFFER, Use.PAID), (cheap, Use.SPENT)):
        found = settled(transfer(offer, PAYER.public_key), [entry(cheap), entry()])
        assert use_of_nonce(found, wanted()) is expected


def test_two_entries_under_one_nonce_inside_another_call_prove_nothing() -> None:
    router, both = transfer(OFFER, OTHER.public_key), [entry(replace(OFFER, amount=1)), entry()]
    assert use_of_nonce(settled(router, both, meta=meta_creating(NONCE)), wanted()) is Use.UNCLEAR


@pytest.mark.parametrize("envelope_xdr", ["", "AAAA", base64.b64encode(b"\xff" * 400).decode()])
def test_a_broken_envelope_denies_nothing(envelope_xdr: str) -> None:
    found = Transaction("SUCCESS", "ab" * 32, 10, envelope_xdr)
    assert (use_of_nonce(found, wanted()), nonces_of(found)) == (Use.UNCLEAR, None)


@pytest.mark.parametrize(("ttl", "expected"), [(16, 16), (17_280, 17_280), (100_000, MOST_TTL)])
def test_a_network_that_keeps_entries_for_less_time_shortens_the_proof(ttl: int, expected: int) -> None:
    assert min_temporary_ttl(archival_setting(ttl)) == expected
    assert xdr.LedgerKey.from_xdr(ARCHIVAL_KEY).config_setting is not None


@pytest.mark.parametrize("entry_xdr", ["", "AAAA"])
def test_a_setting_that_cannot_be_read_proves_nothing(entry_xdr: str) -> None:
    assert min_temporary_ttl(entry_xdr) == 1


def archival_setting(ttl: int) -> str:
    numbers = [xdr.Uint32(1), xdr.Uint32(ttl), xdr.Uint32(1), xdr.Int64(1), xdr.Int64(1)]
    archival = xdr.StateArchivalSettings(*numbers, *[xdr.Uint32(1)] * 5)  # type: ignore[arg-type]
    kind = xdr.ConfigSettingID.CONFIG_SETTING_STATE_ARCHIVAL
    setting = xdr.ConfigSettingEntry(kind, state_archival_settings=archival)
    return xdr.LedgerEntryData(xdr.LedgerEntryType.CONFIG_SETTING, config_setting=setting).to_xdr()


def meta_creating(nonce: int) -> str:
    """The meta of a transaction whose operation created one nonce entry, as real networks give it."""
    key = xdr.LedgerKey.from_xdr(nonce_key(PAYER.public_key, nonce)).contract_data
    assert key is not None
    empty = xdr.ExtensionPoint(0)
    data = xdr.ContractDataEntry(empty, key.contract, key.key, key.durability, scval.to_void())
    body = xdr.LedgerEntryData(xdr.LedgerEntryType.CONTRACT_DATA, contract_data=data)
    made = xdr.LedgerEntry(xdr.Uint32(10), body, xdr.LedgerEntryExt(0))
    change = xdr.LedgerEntryChange(xdr.LedgerEntryChangeType.LEDGER_ENTRY_CREATED, created=made)
    none = xdr.LedgerEntryChanges([])
    operation = xdr.OperationMetaV2(empty, xdr.LedgerEntryChanges([change]), [])
    v4 = xdr.TransactionMetaV4(empty, none, [operation], none, None, [], [])
    return xdr.TransactionMeta(4, v4=v4).to_xdr()
