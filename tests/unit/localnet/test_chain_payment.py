"""Payments on the local chain: what moves the token, and what does not."""

import pytest
from stellar_sdk import Keypair, MuxedAccount, StrKey, TransactionBuilder, scval, xdr
from stellar_sdk.auth import (
    DelegateSignature,
    authorization_payload_hash,
    authorize_entry,
    build_authorization_preimage,
    build_with_delegates_entry,
)

from provider.localnet.chain import keys
from tests.unit.localnet.support import Town, manual_town, nonce_of, result_code, with_auth


def nonce_entries(town: Town, address: str, nonce: int) -> list[dict[str, object]]:
    key = keys.nonce_key(address, nonce).to_xdr()
    entries = town.rpc.call("getLedgerEntries", {"keys": [key]})["entries"]
    assert isinstance(entries, list)
    return entries


def test_a_payment_moves_the_amount_once_its_ledger_closed(town: Town) -> None:
    """Pending until the close, then on chain with the transfer recorded."""
    sent = town.send(town.ready())
    assert (sent["status"], town.get(sent["hash"])["status"]) == ("PENDING", "NOT_FOUND")
    town.state.close()
    assert town.get(sent["hash"])["status"] == "SUCCESS"
    assert town.balances() == (1_000_000_000 - 10_000, 10_000)
    assert town.state.transfers[0].tx_hash == sent["hash"]


def test_the_nonce_entry_lives_for_the_minimum_time_of_the_network(town: Town) -> None:
    """max(expiration, created + 720 - 1) by the setting of testnet, facts A5.1."""
    call = town.transfer()
    entry = town.authorize(call)
    assert nonce_entries(town, town.payer.public_key, nonce_of(entry)) == []
    town.send(town.settlement(call, [entry], data=town.data(call, entry)))
    created = town.state.close().sequence
    (found,) = nonce_entries(town, town.payer.public_key, nonce_of(entry))
    assert found["liveUntilLedgerSeq"] == created + 720 - 1
    assert found["lastModifiedLedgerSeq"] == created
    town.state.close(719)
    assert nonce_entries(town, town.payer.public_key, nonce_of(entry))
    town.state.close()
    assert not nonce_entries(town, town.payer.public_key, nonce_of(entry))


def test_a_long_authorisation_keeps_its_nonce_until_it_expires() -> None:
    town = manual_town(min_temporary_ttl=16)
    call = town.transfer()
    entry = town.authorize(call, expiration=town.ledger + 100)
    town.send(town.settlement(call, [entry], data=town.data(call, entry)))
    town.state.close()
    (found,) = nonce_entries(town, town.payer.public_key, nonce_of(entry))
    assert found["liveUntilLedgerSeq"] == town.ledger + 99


def test_a_nonce_pays_once(town: Town) -> None:
    """The second transaction with the same authorisation fails, also when a stranger sends it."""
    stranger = Keypair.random()
    town.state.fund(stranger.public_key)
    call = town.transfer()
    entry = town.authorize(call)
    data = town.data(call, entry)
    town.send(town.settlement(call, [entry], data=data))
    second = town.send(town.settlement(call, [entry], data=data, source=stranger))
    town.state.close()
    assert second["status"] == "PENDING"
    assert town.get(second["hash"])["status"] == "FAILED"
    assert town.balances()[1] == 10_000
    assert "nonce already exists" in town.simulate(with_auth(town, call, entry))["error"]


def test_a_failed_transaction_leaves_the_nonce_for_another_one(town: Town) -> None:
    """FAILED rolls back: facts A5.1, the authorisation stays good."""
    call = town.transfer()
    entry = town.authorize(call)
    data = town.data(call, entry)
    town.faults.add("fail_next")
    failed = town.send(town.settlement(call, [entry], data=data))
    town.state.close()
    assert town.get(failed["hash"])["status"] == "FAILED"
    assert not nonce_entries(town, town.payer.public_key, nonce_of(entry))
    town.send(town.settlement(call, [entry], data=data))
    town.state.close()
    assert town.balances()[1] == 10_000


@pytest.mark.parametrize(
    ("ledgers_left", "simulated", "status"),
    [(1, True, "SUCCESS"), (0, True, "FAILED"), (-1, False, "FAILED")],
)
def test_an_authorisation_is_good_up_to_its_expiration_ledger(
    town: Town, ledgers_left: int, simulated: bool, status: str
) -> None:
    """Ledger <= expiration; a simulation runs in the latest ledger, a transaction in the next one.

    Was red in the second case: the chain simulated in the next ledger as well.
    """
    call = town.transfer()
    unsigned = town.simulate(call)["results"][0]["auth"][0]
    lasting = authorize_entry(unsigned, town.payer, town.ledger + 12, town.passphrase)
    entry = authorize_entry(unsigned, town.payer, town.ledger + ledgers_left, town.passphrase)
    assert ("error" not in town.simulate(with_auth(town, call, entry))) == simulated
    sent = town.send(town.settlement(call, [entry], data=town.data(call, lasting)))
    town.state.close()
    assert town.get(sent["hash"])["status"] == status
    assert ("signature has expired" in town.state.applied[-1].error) == (status == "FAILED")


def settle(town: Town, call: str, entry: xdr.SorobanAuthorizationEntry) -> object:
    return town.settlement(call, [entry], data=town.data(call, entry))


def test_an_expiration_beyond_the_longest_entry_is_refused(town: Town) -> None:
    call = town.transfer()
    entry = town.authorize(call, expiration=town.ledger + 3_110_400)
    assert "too late" in town.simulate(with_auth(town, call, entry))["error"]


def test_a_signature_of_another_key_is_refused(town: Town) -> None:
    call = town.transfer()
    entry = town.authorize(call, signer=Keypair.random())
    assert "Error(Auth, InvalidAction)" in town.simulate(with_auth(town, call, entry))["error"]


@pytest.mark.parametrize("position", [0, 31, 32, 63])
def test_one_wrong_bit_in_the_signature_is_refused(town: Town, position: int) -> None:
    call = town.transfer()
    entry = town.authorize(call)
    assert entry.credentials.address is not None
    signature = entry.credentials.address.signature.vec.sc_vec[0].map.sc_map[1].val.bytes  # type: ignore[union-attr]
    broken = bytearray(signature.sc_bytes)  # type: ignore[union-attr]
    broken[position] ^= 1
    signature.sc_bytes = bytes(broken)  # type: ignore[union-attr]
    assert "Error(Auth, InvalidAction)" in town.simulate(with_auth(town, call, entry))["error"]


def test_a_signature_that_names_another_key_is_refused(town: Town) -> None:
    """Also when the signature itself is good."""
    call = town.transfer()
    entry = town.authorize(call)
    assert entry.credentials.address is not None
    fields = entry.credentials.address.signature.vec.sc_vec[0].map.sc_map  # type: ignore[union-attr]
    fields[0].val = scval.to_bytes(Keypair.random().raw_public_key())
    assert "no signer" in town.simulate(with_auth(town, call, entry))["error"]


def test_a_signature_for_another_network_is_refused(town: Town) -> None:
    call = town.transfer()
    text = town.simulate(call)["results"][0]["auth"][0]
    entry = authorize_entry(
        text, town.payer, town.ledger + 12, "Public Global Stellar Network ; September 2015"
    )
    assert "Error(Auth, InvalidAction)" in town.simulate(with_auth(town, call, entry))["error"]


def test_an_authorisation_of_another_amount_is_no_authorisation(town: Town) -> None:
    entry = town.authorize(town.transfer(1))
    assert "Unauthorized function call" in town.simulate(with_auth(town, town.transfer(2), entry))["error"]


@pytest.mark.parametrize("mode", ["v1", "v2"])
def test_both_credentials_can_pay(mode: str) -> None:
    """Protocol 26 and 27 credentials (CAP-71)."""
    town = manual_town(credentials=mode)
    call = town.transfer()
    entry = town.authorize(call)
    assert (entry.credentials.address_v2 is None) == (mode == "v1")
    town.send(settle(town, call, entry))
    town.state.close()
    assert town.balances()[1] == 10_000


@pytest.mark.parametrize("flag", [True, False, None])
def test_by_flag_the_client_chooses_the_credentials(flag: bool | None) -> None:
    town = manual_town(credentials="by-flag")
    entry = town.authorize(town.transfer(), useUpgradedAuth=flag)
    assert (entry.credentials.address_v2 is not None) == (flag is True)


@pytest.mark.parametrize("wrong", [False, True])
def test_credentials_with_delegates_need_the_signature_of_the_payer(wrong: bool) -> None:
    town = manual_town(credentials="v2")
    call, expiration = town.transfer(), town.ledger + 12
    text = town.simulate(call)["results"][0]["auth"][0]
    entry = build_with_delegates_entry(text, expiration, [DelegateSignature(Keypair.random().public_key)])
    signed = authorize_entry(entry, Keypair.random() if wrong else town.payer, expiration, town.passphrase)
    assert ("error" in town.simulate(with_auth(town, call, signed))) == wrong


@pytest.mark.parametrize("good", [False, True])
def test_a_delegate_that_signed_must_have_signed_this_call(good: bool) -> None:
    town, delegate = manual_town(credentials="v2"), Keypair.random()
    town.state.fund(delegate.public_key)
    call, expiration = town.transfer(), town.ledger + 12
    text = town.simulate(call)["results"][0]["auth"][0]
    entry = build_with_delegates_entry(text, expiration, [DelegateSignature(delegate.public_key)])
    signer = delegate if good else Keypair.random()
    entry = authorize_entry(entry, town.payer, expiration, town.passphrase)
    digest = authorization_payload_hash(build_authorization_preimage(entry, expiration, town.passphrase))
    signature = {"public_key": delegate.raw_public_key(), "signature": signer.sign(digest)}
    item = scval.to_map({scval.to_symbol(name): scval.to_bytes(value) for name, value in signature.items()})
    assert entry.credentials.address_with_delegates is not None
    entry.credentials.address_with_delegates.delegates[0].signature = scval.to_vec([item])
    assert ("error" not in town.simulate(with_auth(town, call, entry))) == good


def test_more_than_the_balance_is_refused(town: Town) -> None:
    assert "Error(Contract, #10)" in town.simulate(town.transfer(1_000_000_001))["error"]


def test_a_negative_amount_is_refused(town: Town) -> None:
    assert "Error(Contract, #8)" in town.simulate(town.transfer(-1))["error"]


def test_a_muxed_sender_is_refused(town: Town) -> None:
    muxed = MuxedAccount(town.payer.public_key, 1).account_muxed
    assert muxed is not None
    assert "Error(Value, UnexpectedType)" in town.simulate(town.transfer(payer=muxed))["error"]


def test_an_account_without_a_trustline_cannot_be_paid(town: Town) -> None:
    bare = Keypair.random().public_key
    town.state.fund(bare, trustline=False)
    for address in (bare, Keypair.random().public_key):
        assert "trustline entry is missing" in town.simulate(town.transfer(to=address))["error"]


def test_a_wallet_contract_pays_with_the_key_it_was_funded_with(town: Town) -> None:
    owner, wallet = Keypair.random(), StrKey.encode_contract(bytes(range(32)))
    town.state.fund(wallet, "1", signer=owner.public_key)
    call = town.transfer(payer=wallet)
    wrong = town.authorize(call, signer=town.payer)
    assert "error" in town.simulate(with_auth(town, call, wrong))
    entry = town.authorize(call, signer=owner)
    town.send(settle(town, call, entry))
    town.state.close()
    assert (town.state.balance(wallet), town.balances()[1]) == (10_000_000 - 10_000, 10_000)
    assert nonce_entries(town, wallet, nonce_of(entry))


def test_a_muxed_destination_shows_in_the_data_of_the_event_alone(town: Town) -> None:
    """CAP-67: topics are never muxed, the data is a map."""
    muxed = MuxedAccount(town.merchant.public_key, 42).account_muxed
    assert muxed is not None
    call = town.transfer(to=muxed)
    events = town.simulate(call)["events"]
    body = xdr.DiagnosticEvent.from_xdr(events[1]).event.body.v0
    assert body is not None
    assert scval.from_address(body.topics[2]).address == town.merchant.public_key
    assert scval.to_native(body.data) == {"amount": 10_000, "to_muxed_id": 42}


@pytest.mark.parametrize(("payer", "to", "kind"), [("issuer", "", "mint"), ("", "issuer", "burn")])
def test_the_issuer_mints_and_burns(town: Town, payer: str, to: str, kind: str) -> None:
    issuer = town.state.config.token.issuer
    call = town.transfer(payer=payer and issuer, to=to and issuer)
    body = xdr.DiagnosticEvent.from_xdr(town.simulate(call)["events"][1]).event.body.v0
    assert body is not None
    assert (scval.from_symbol(body.topics[0]), len(body.topics)) == (kind, 3)


def test_a_burn_is_found_by_its_event(town: Town) -> None:
    """Where the payee is the issuer there is no transfer event (SAC event.rs:47-65)."""
    issuer = town.state.config.token.issuer
    call = town.transfer(to=issuer)
    town.send(settle(town, call, town.authorize(call)))
    town.state.close()
    payer = scval.to_address(town.payer.public_key).to_xdr()
    counts = {}
    for kind in ("burn", "transfer"):
        topics = [[scval.to_symbol(kind).to_xdr(), payer, "**"]]
        found = town.rpc.call("getEvents", {"startLedger": town.ledger, "filters": [{"topics": topics}]})
        counts[kind] = len(found["events"])
    assert counts == {"burn": 1, "transfer": 0}


@pytest.mark.parametrize(
    ("function", "value"),
    [("decimals", 7), ("symbol", "USDC"), ("balance", 1_000_000_000)],
)
def test_the_token_answers_questions(town: Town, function: str, value: object) -> None:
    args = [scval.to_address(town.payer.public_key)] if function == "balance" else []
    reply = town.simulate(town.call(*args, function=function))
    assert scval.to_native(reply["results"][0]["xdr"]) == value


def test_a_footprint_without_the_nonce_traps(town: Town) -> None:
    """A client's footprint is not to be trusted: facts B4.5."""
    call = town.transfer()
    entry = town.authorize(call)
    sent = town.send(town.settlement(call, [entry], data=town.data(town.transfer())))
    town.state.close()
    assert town.get(sent["hash"])["status"] == "FAILED"
    assert "outside of the footprint" in town.state.applied[-1].error


def test_a_key_that_may_only_be_read_is_not_written(town: Town) -> None:
    call = town.transfer()
    entry = town.authorize(call)
    data = town.data(call, entry)
    footprint = data.resources.footprint
    footprint.read_only.append(footprint.read_write.pop())
    town.send(town.settlement(call, [entry], data=data))
    town.state.close()
    assert "outside of the footprint" in town.state.applied[-1].error


def test_a_fee_bump_is_found_by_both_hashes(town: Town) -> None:
    """envelopeXdr is the outer envelope under either hash: facts A5.4."""
    sponsor = Keypair.random()
    town.state.fund(sponsor.public_key)
    inner = town.ready()
    outer = TransactionBuilder.build_fee_bump_transaction(sponsor, 30_000, inner, town.passphrase)
    outer.sign(sponsor)
    sent = town.send(outer)
    town.state.close()
    for tx_hash in (outer.hash_hex(), inner.hash_hex()):
        found = town.get(tx_hash)
        assert (found["status"], found["feeBump"], found["envelopeXdr"]) == ("SUCCESS", True, outer.to_xdr())
    assert sent["hash"] == outer.hash_hex()
    assert result_code(found["resultXdr"]) == "txFEE_BUMP_INNER_SUCCESS"


def test_the_fee_is_charged_for_a_failure_too(town: Town) -> None:
    before = town.state.account(town.facilitator.public_key)
    town.faults.add("fail_next")
    town.pay()
    after = town.state.account(town.facilitator.public_key)
    assert before is not None
    assert after is not None
    assert (before.stroops - after.stroops, after.sequence - before.sequence) == (20_100, 1)
    assert town.balances()[1] == 0
