"""Who has to have signed, in each arm of credentials."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from stellar_sdk import Address, Keypair, scval, xdr
from stellar_sdk.auth import build_authorization_preimage

from provider.payments.models import CheckedPayment, PaymentPayload, PaymentRequirements
from provider.payments.stellar import envelope
from provider.payments.stellar.signature import preimage_hash
from tests.support.payments import PASSPHRASES, signed_payment
from tests.unit.payments.conftest import EXPIRATION, bent, call_of, entry_of

Check = Callable[..., CheckedPayment]
Reason = Callable[..., str]
ARMS = ["address", "address_v2", "address_with_delegates"]


def _credentials(transaction: xdr.Transaction) -> Any:
    arms = entry_of(transaction).credentials
    delegating = arms.address_with_delegates
    return arms.address or arms.address_v2 or delegating.address_credentials


def _signed_by(payment: PaymentPayload, *keypairs: Keypair, message: bytes | None = None) -> PaymentPayload:
    """Replace the signatures, in the order given."""

    def sign(transaction: xdr.Transaction) -> None:
        authorization = envelope.authorization(entry_of(transaction))
        hashed = message or preimage_hash(authorization, payment.accepted.network)
        _credentials(transaction).signature = scval.to_vec([_item(keypair, hashed) for keypair in keypairs])

    return bent(payment, sign)


def _item(keypair: Keypair, message: bytes) -> xdr.SCVal:
    return scval.to_map(
        {
            scval.to_symbol("public_key"): scval.to_bytes(keypair.raw_public_key()),
            scval.to_symbol("signature"): scval.to_bytes(keypair.sign(message)),
        }
    )


def _sorted(*keypairs: Keypair) -> list[Keypair]:
    return sorted(keypairs, key=lambda keypair: keypair.raw_public_key())


def _set_signature(payment: PaymentPayload, value: xdr.SCVal) -> PaymentPayload:
    return bent(payment, lambda tx: setattr(_credentials(tx), "signature", value))


@pytest.mark.parametrize("arm", ARMS)
def test_a_signature_of_each_arm_is_checked(
    offer: PaymentRequirements, payer: Keypair, check: Check, arm: str
) -> None:
    """The SDK signs, we check."""
    checked = check(signed_payment(offer, payer, EXPIRATION, arm=arm))
    assert (checked.credentials, checked.signature_checked) == (arm, True)


@pytest.mark.parametrize("arm", ARMS)
def test_a_flipped_bit_is_seen_in_each_arm(
    offer: PaymentRequirements, payer: Keypair, reason: Reason, arm: str
) -> None:
    """One bit of the signature."""
    payment = signed_payment(offer, payer, EXPIRATION, arm=arm)

    def flip(transaction: xdr.Transaction) -> None:
        entry = _credentials(transaction).signature.vec.sc_vec[0].map.sc_map[1]
        raw = bytearray(entry.val.bytes.sc_bytes)
        raw[7] ^= 1
        entry.val = scval.to_bytes(bytes(raw))

    assert reason(bent(payment, flip)) == "simulation_failed"


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("part", ["nonce", "signature_expiration_ledger"])
def test_the_signature_covers_nonce_and_expiration(
    offer: PaymentRequirements, payer: Keypair, reason: Reason, arm: str, part: str
) -> None:
    """Otherwise a payment could be claimed twice, or stretched."""
    payment = signed_payment(offer, payer, EXPIRATION, nonce=42, arm=arm)
    value = xdr.Int64(43) if part == "nonce" else xdr.Uint32(EXPIRATION + 1)
    assert reason(bent(payment, lambda tx: setattr(_credentials(tx), part, value))) == "simulation_failed"


@pytest.mark.parametrize("arm", ARMS)
def test_the_preimage_is_the_sdks(offer: PaymentRequirements, payer: Keypair, arm: str) -> None:
    """Ours is packed by hand, for speed."""
    payment = signed_payment(offer, payer, EXPIRATION, nonce=-(2**63), arm=arm)
    decoded = envelope.decode(payment.transaction)
    entry = decoded.operation().auth[0]
    sdks = build_authorization_preimage(entry, EXPIRATION, PASSPHRASES[offer.network])
    assert (
        preimage_hash(decoded.authorization(), offer.network) == hashlib.sha256(sdks.to_xdr_bytes()).digest()
    )


UNSIGNED = {
    "void": scval.to_void(),
    "no signatures": scval.to_vec([]),
    "not a vector": scval.to_uint32(1),
    "not a map": scval.to_vec([scval.to_uint32(1)]),
    "an empty map": scval.to_vec([scval.to_map({})]),
    "short bytes": scval.to_vec(
        [
            scval.to_map(
                {
                    scval.to_symbol("public_key"): scval.to_bytes(b"1"),
                    scval.to_symbol("signature"): scval.to_bytes(b"2"),
                }
            )
        ]
    ),
}


@pytest.mark.parametrize("signature", UNSIGNED.values(), ids=UNSIGNED)
def test_an_account_has_to_have_signed(payment: PaymentPayload, reason: Reason, signature: xdr.SCVal) -> None:
    """In the one shape that the chain takes."""
    assert reason(_set_signature(payment, signature)) == "simulation_failed"


def test_other_signers_of_an_account_are_left_to_simulation(
    payment: PaymentPayload, stranger: Keypair, payer: Keypair, check: Check
) -> None:
    """Only the ledger knows the signers of an account; the payer's own key decides offline."""
    assert check(_signed_by(payment, stranger)).signature_checked is False
    assert check(_signed_by(payment, *_sorted(payer, stranger))).signature_checked is True


def test_every_signature_has_to_fit_its_key(
    payment: PaymentPayload, stranger: Keypair, payer: Keypair, reason: Reason
) -> None:
    """The chain verifies all of them, so one bad one spoils the payment."""
    assert reason(_signed_by(payment, stranger, message=b"something else")) == "simulation_failed"
    two = _sorted(payer, stranger)

    def spoil(transaction: xdr.Transaction) -> None:
        items = _credentials(transaction).signature.vec.sc_vec
        items[two.index(stranger)].map.sc_map[1].val = scval.to_bytes(b"\1" * 64)

    assert reason(bent(_signed_by(payment, *two), spoil)) == "simulation_failed"


def test_signatures_have_to_be_sorted_and_unique(
    payment: PaymentPayload, stranger: Keypair, payer: Keypair, reason: Reason
) -> None:
    """As the chain wants them, and at most 20."""
    assert reason(_signed_by(payment, *reversed(_sorted(payer, stranger)))) == "simulation_failed"
    assert reason(_signed_by(payment, payer, payer)) == "simulation_failed"
    many = _sorted(*(Keypair.from_raw_ed25519_seed(bytes([n] * 32)) for n in range(21)))
    assert reason(_signed_by(payment, *many)) == "simulation_failed"


def _by_contract(payment: PaymentPayload, signature: xdr.SCVal) -> PaymentPayload:
    contract = Address("CAAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQC526").to_xdr_sc_address()

    def pay(transaction: xdr.Transaction) -> None:
        call_of(transaction).args[0] = scval.to_address(Address.from_xdr_sc_address(contract))
        entry_of(transaction).root_invocation.function.contract_fn = call_of(transaction)
        _credentials(transaction).address = contract
        _credentials(transaction).signature = signature

    return bent(payment, pay)


def test_the_signature_of_a_contract_is_its_own_business(payment: PaymentPayload, check: Check) -> None:
    """A smart wallet may use passkeys or anything else; it only has to be there."""
    checked = check(_by_contract(payment, scval.to_bytes(b"passkey")))
    assert (checked.payer[0], checked.signature_checked) == ("C", False)


def test_an_unsigned_payment_of_a_contract_is_refused(payment: PaymentPayload, reason: Reason) -> None:
    """As the official facilitator does."""
    assert reason(_by_contract(payment, scval.to_void())) == "missing_payer_signature"


def test_delegates_alone_are_left_to_simulation(
    offer: PaymentRequirements, payer: Keypair, check: Check
) -> None:
    """CAP-71: the account may leave signing to its delegates."""
    payment = signed_payment(offer, payer, EXPIRATION, arm="address_with_delegates")
    assert check(_set_signature(payment, scval.to_void())).signature_checked is False
