"""What can be decoded at all, and which payment it is (standard J2, J3)."""

import base64
from collections.abc import Callable
from dataclasses import replace

import pytest
from stellar_sdk import Keypair, TransactionBuilder, TransactionEnvelope, scval, xdr

from provider.errors import PaymentRejected
from provider.payments.models import CheckedPayment, PaymentPayload, claim_digest
from provider.payments.stellar.check import identify_payment
from tests.support.payments import PASSPHRASES
from tests.unit.payments.conftest import bent, call_of, entry_of, muxed

Check = Callable[..., CheckedPayment]
Reason = Callable[..., str]


def _v0(payment: PaymentPayload) -> str:
    tx = xdr.TransactionV0(
        source_account_ed25519=xdr.Uint256(b"\0" * 32),
        fee=xdr.Uint32(100),
        seq_num=xdr.SequenceNumber(xdr.Int64(1)),
        time_bounds=None,
        memo=xdr.Memo(xdr.MemoType.MEMO_NONE),
        operations=[],
        ext=xdr.TransactionV0Ext(0),
    )
    v0 = xdr.TransactionV0Envelope(tx, [])
    return xdr.TransactionEnvelope(xdr.EnvelopeType.ENVELOPE_TYPE_TX_V0, v0=v0).to_xdr()


def _fee_bump(payment: PaymentPayload) -> str:
    passphrase = PASSPHRASES[payment.accepted.network]
    inner = TransactionEnvelope.from_xdr(payment.transaction, passphrase)
    bump = TransactionBuilder.build_fee_bump_transaction(Keypair.random(), 100_000, inner, passphrase)
    return bump.to_xdr()


MALFORMED: dict[str, Callable[[PaymentPayload], str]] = {
    "empty": lambda p: "",
    "no base64": lambda p: "!" + p.transaction,
    "a newline inside": lambda p: p.transaction[:40] + "\n" + p.transaction[40:],
    "unpadded": lambda p: p.transaction.rstrip("=") + "A",
    "not ASCII": lambda p: "é" * 8,
    "cut off": lambda p: p.transaction[:400],
    "bytes after the end": lambda p: base64.b64encode(base64.b64decode(p.transaction) + b"\0" * 4).decode(),
    "a v0 envelope": _v0,
    "a fee bump": _fee_bump,
    "over 16 KiB": lambda p: "A" * (16 * 1024 + 4),
}


@pytest.mark.parametrize("spell", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_v1_envelope_in_strict_base64_is_malformed(
    payment: PaymentPayload, reason: Reason, spell: Callable[[PaymentPayload], str]
) -> None:
    """Both the check and the identification say so."""
    spelled = replace(payment, transaction=spell(payment))
    assert reason(spelled) == "malformed"
    with pytest.raises(PaymentRejected, match=r"transaction"):
        identify_payment(spelled)


def test_the_size_is_capped_before_decoding(payment: PaymentPayload) -> None:
    """At 16 KiB of base64."""
    with pytest.raises(PaymentRejected, match="larger than 16384"):
        identify_payment(replace(payment, transaction="A" * (16 * 1024 + 4)))
    with pytest.raises(PaymentRejected, match="XDR"):
        identify_payment(replace(payment, transaction="A" * (16 * 1024)))


def test_the_identity_is_that_of_the_check(payment: PaymentPayload, check: Check) -> None:
    """Replays are looked up by it before the payment is judged (H2)."""
    identity, checked = identify_payment(payment), check(payment)
    assert identity.envelope_digest == checked.envelope_digest
    assert (identity.network, identity.asset) == (checked.network, checked.asset)
    assert (identity.payer, identity.nonce) == (checked.payer, checked.nonce)


def test_the_identity_does_not_ask_whether_the_payment_is_good(
    payment: PaymentPayload,
) -> None:
    """Long after signing, or for another price, it is still the same payment."""
    flipped = bent(payment, lambda tx: setattr(call_of(tx), "function_name", xdr.SCSymbol(b"burn")))
    assert identify_payment(flipped).nonce == 42
    assert identify_payment(flipped).envelope_digest != identify_payment(payment).envelope_digest


def test_the_claim_key_tells_every_part_apart() -> None:
    """The key of J2: network, asset, payer and nonce."""
    one = claim_digest("stellar:testnet", "C1", "G1", -5)
    others = {
        claim_digest("stellar:pubnet", "C1", "G1", -5),
        claim_digest("stellar:testnet", "C2", "G1", -5),
        claim_digest("stellar:testnet", "C1", "G2", -5),
        claim_digest("stellar:testnet", "C1", "G1", 5),
    }
    assert one == claim_digest("stellar:testnet", "C1", "G1", -5)
    assert len(others | {one}) == 5
    assert one == "2398d5d9fc2b21404923301d695a58bf706f41d8a466ad34f3fc72338ac9a06a"


@pytest.mark.parametrize("part", ["fee", "signature"])
def test_the_digest_is_of_every_byte(payment: PaymentPayload, part: str) -> None:
    """Equal only for byte-equal envelopes (J3), also where nothing is signed."""

    def change(transaction: xdr.Transaction) -> None:
        if part == "fee":
            transaction.fee = xdr.Uint32(transaction.fee.uint32 + 1)
        else:
            entry_of(transaction).credentials.address.signature = scval.to_void()

    other = identify_payment(bent(payment, change))
    assert other.envelope_digest != identify_payment(payment).envelope_digest
    same = identify_payment(payment)
    assert (other.authorization_digest == same.authorization_digest) is (part == "fee")
    blank = {"envelope_digest": "", "authorization_digest": ""}
    assert replace(other, **blank) == replace(same, **blank)


def test_strange_addresses_are_refused_not_misread(
    payment: PaymentPayload, payer: Keypair, reason: Reason
) -> None:
    """A muxed address as asset, and one that authorises."""
    address = muxed(payer.public_key).address
    as_asset = bent(payment, lambda tx: setattr(call_of(tx), "contract_address", address))
    as_signer = bent(payment, lambda tx: setattr(entry_of(tx).credentials.address, "address", address))
    assert reason(as_asset) == "wrong_asset"
    assert reason(as_signer) == "simulation_failed"
    for strange in (as_asset, as_signer):
        with pytest.raises(PaymentRejected):
            identify_payment(strange)
