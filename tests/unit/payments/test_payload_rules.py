"""Each rule of standard §4, broken once."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from stellar_sdk import Keypair, MuxedAccount, scval, xdr

from provider.errors import PaymentRejected
from provider.payments.models import CheckedPayment, PaymentPayload, PaymentRequirements
from provider.payments.stellar.check import identify_payment
from tests.support.payments import PASSPHRASES, envelope, signed_entry, transfer
from tests.unit.payments.conftest import EXPIRATION, Bend, bent, call_of, entry_of, muxed, operation_of

Check = Callable[..., CheckedPayment]
Reason = Callable[..., str]
CONTRACT = "CAAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQC526"


def test_a_payment_that_fits_the_offer_is_accepted(
    check: Check, payment: PaymentPayload, offer: PaymentRequirements, payer: Keypair
) -> None:
    """The result carries what the claim needs."""
    checked = check(payment)
    assert (checked.payer, checked.pay_to, checked.asset) == (payer.public_key, offer.pay_to, offer.asset)
    assert (checked.amount, checked.nonce, checked.expiration_ledger) == (500_000, 42, EXPIRATION)
    assert (checked.network, checked.credentials, checked.signature_checked) == (
        offer.network,
        "address",
        True,
    )
    assert len(checked.envelope_digest) == 64


BENDS: dict[str, tuple[Bend, str]] = {
    "two operations": (lambda tx: tx.operations.append(tx.operations[0]), "wrong_operation"),
    "no operation": (lambda tx: tx.operations.clear(), "wrong_operation"),
    "another operation": (
        lambda tx: setattr(tx.operations[0], "body", xdr.OperationBody(xdr.OperationType.INFLATION)),
        "wrong_operation",
    ),
    "another host function": (
        lambda tx: setattr(
            operation_of(tx),
            "host_function",
            xdr.HostFunction(xdr.HostFunctionType.HOST_FUNCTION_TYPE_UPLOAD_CONTRACT_WASM, wasm=b"\0asm"),
        ),
        "wrong_operation",
    ),
    "another asset": (
        lambda tx: setattr(call_of(tx), "contract_address", scval.to_address(CONTRACT).address),
        "wrong_asset",
    ),
    "an account as asset": (
        lambda tx: setattr(call_of(tx), "contract_address", call_of(tx).args[0].address),
        "wrong_asset",
    ),
    "another function": (
        lambda tx: setattr(call_of(tx), "function_name", xdr.SCSymbol(b"transfer_from")),
        "wrong_function_name",
    ),
    "two arguments": (lambda tx: call_of(tx).args.pop(), "wrong_function_name"),
    "four arguments": (lambda tx: call_of(tx).args.append(scval.to_void()), "wrong_function_name"),
    "a number as payer": (
        lambda tx: call_of(tx).args.__setitem__(0, scval.to_uint32(1)),
        "simulation_failed",
    ),
    "another payee": (
        lambda tx: call_of(tx).args.__setitem__(1, scval.to_address(CONTRACT)),
        "wrong_recipient",
    ),
    "a number as payee": (lambda tx: call_of(tx).args.__setitem__(1, scval.to_uint32(1)), "wrong_recipient"),
    "one unit less": (lambda tx: call_of(tx).args.__setitem__(2, scval.to_int128(499_999)), "wrong_amount"),
    "one unit more": (lambda tx: call_of(tx).args.__setitem__(2, scval.to_int128(500_001)), "wrong_amount"),
    "the amount negative": (
        lambda tx: call_of(tx).args.__setitem__(2, scval.to_int128(-500_000)),
        "wrong_amount",
    ),
    "the amount in the upper half": (
        lambda tx: call_of(tx).args.__setitem__(2, scval.to_int128((1 << 64) + 500_000)),
        "wrong_amount",
    ),
    "the amount as u64": (
        lambda tx: call_of(tx).args.__setitem__(2, scval.to_uint64(500_000)),
        "wrong_amount",
    ),
    "no authorisation": (lambda tx: operation_of(tx).auth.clear(), "no_auth_entries"),
    "the same authorisation twice": (lambda tx: operation_of(tx).auth.append(entry_of(tx)), "malformed"),
    "credentials of the source account": (
        lambda tx: setattr(
            entry_of(tx),
            "credentials",
            xdr.SorobanCredentials(xdr.SorobanCredentialsType.SOROBAN_CREDENTIALS_SOURCE_ACCOUNT),
        ),
        "unsupported_credential_type",
    ),
    "an authorisation by the payee": (
        lambda tx: setattr(entry_of(tx).credentials.address, "address", call_of(tx).args[1].address),
        "missing_payer_signature",
    ),
    "a sub-invocation": (
        lambda tx: entry_of(tx).root_invocation.sub_invocations.append(
            xdr.SorobanAuthorizedInvocation(entry_of(tx).root_invocation.function, [])
        ),
        "has_subinvocations",
    ),
}


@pytest.mark.parametrize(("bend", "expected"), BENDS.values(), ids=BENDS)
def test_a_bent_payment_is_refused_by_name(
    payment: PaymentPayload, reason: Reason, bend: Bend, expected: str
) -> None:
    """One change each, and the x402 name of the rule that it breaks."""
    assert reason(bent(payment, bend)) == expected


def test_a_muxed_payee_is_refused_even_if_it_is_the_offered_one(
    payment: PaymentPayload, offer: PaymentRequirements, reason: Reason
) -> None:
    """The official facilitator cannot settle to M addresses (facts D10)."""
    address = str(MuxedAccount(offer.pay_to, 7).account_muxed)
    to_muxed = bent(payment, lambda tx: call_of(tx).args.__setitem__(1, muxed(offer.pay_to)))
    assert reason(to_muxed) == "wrong_recipient"
    assert reason(to_muxed, offers=[replace(offer, pay_to=address)]) == "wrong_recipient"


def test_a_muxed_payer_is_refused(payment: PaymentPayload, payer: Keypair, reason: Reason) -> None:
    """Only G and C addresses authorise transfers."""
    by_muxed = bent(payment, lambda tx: call_of(tx).args.__setitem__(0, muxed(payer.public_key)))
    assert reason(by_muxed) == "simulation_failed"


def test_an_authorisation_of_another_call_is_refused(
    offer: PaymentRequirements, payer: Keypair, reason: Reason
) -> None:
    """The signature is good, but for a smaller amount than the operation moves."""
    passphrase = PASSPHRASES[offer.network]
    cheaper = transfer(replace(offer, amount=1), payer.public_key)
    entry = signed_entry(cheaper, payer, EXPIRATION, 42, passphrase, "address")
    call = transfer(offer, payer.public_key)
    assert reason(PaymentPayload(offer, envelope(call, [entry], passphrase))) == "simulation_failed"


def test_a_second_authorisation_by_somebody_else_is_refused(
    offer: PaymentRequirements, payer: Keypair, stranger: Keypair, reason: Reason
) -> None:
    """All entries have to be the payer's."""
    passphrase, call = PASSPHRASES[offer.network], transfer(offer, payer.public_key)
    entries = [signed_entry(call, who, EXPIRATION, 42, passphrase, "address") for who in (payer, stranger)]
    assert (
        reason(PaymentPayload(offer, envelope(call, entries, passphrase))) == "unexpected_pending_signatures"
    )


def test_a_second_nonce_of_the_payer_is_refused(
    offer: PaymentRequirements, payer: Keypair, reason: Reason
) -> None:
    """The chain uses up one nonce; the other would claim a payment that never happened."""
    passphrase, call = PASSPHRASES[offer.network], transfer(offer, payer.public_key)
    entries = [signed_entry(call, payer, EXPIRATION, nonce, passphrase, "address") for nonce in (42, 43)]
    two_nonces = PaymentPayload(offer, envelope(call, entries, passphrase))
    assert reason(two_nonces) == "malformed"
    with pytest.raises(PaymentRejected):
        identify_payment(two_nonces)


def test_the_facilitator_must_not_pay_or_be_a_source(
    payment: PaymentPayload, payer: Keypair, stranger: Keypair, check: Check, reason: Reason
) -> None:
    """Whoever sponsors the fee could be made to spend more than that."""
    source = stranger.xdr_muxed_account()
    assert reason(payment, facilitators={payer.public_key}) == "facilitator_is_payer"
    by_tx = bent(payment, lambda tx: setattr(tx, "source_account", source))
    by_operation = bent(payment, lambda tx: setattr(tx.operations[0], "source_account", source))
    for spelled in (by_tx, by_operation):
        assert reason(spelled, facilitators={stranger.public_key}) == "unsafe_tx_or_op_source"
        assert check(spelled)
    address = scval.to_address(stranger.public_key).address
    authorised = bent(payment, lambda tx: setattr(entry_of(tx).credentials.address, "address", address))
    assert reason(authorised, facilitators={stranger.public_key}) == "facilitator_in_auth"
