"""Real payments, and the verdicts of the official facilitator on 18 mutated ones."""

from typing import Any

import pytest

from provider.errors import PaymentRejected
from provider.payments.headers import decode_payment_signature
from provider.payments.models import CheckedPayment, PaymentPayload, PaymentRequirements
from provider.payments.schemas import load_payload, load_requirements
from provider.payments.stellar.check import check_payment, identify_payment
from tests.unit.payments.conftest import fixture

CASES = fixture("verify_cases.json")
JS = fixture("js_payloads.json")
REAL = fixture("x402_v2_stellar_testnet_payment_ac5799ca.json")
SETTLED = fixture("testnet_usdc_x402_settlement_37d52f31.json")

DIFFERENCES = {
    # Fees are the facilitator's: it pays them, and knows its maximum and what simulation asks for.
    "fee_too_high": "VALID",
    "fee_too_low": "VALID",
    # Whose account is the facilitator's is not in the payment; told `facilitators`, we refuse it, see below.
    "tx_source_facilitator": "VALID",
    # The official package is built on an SDK that does not know the credentials of protocol 27.
    "address_v2_credentials": "VALID",
    # The official facilitator had no RPC for pubnet; we see that the signature is not for pubnet.
    "network_pubnet": "invalid_exact_stellar_payload_simulation_failed",
}


def _verdict(case: dict[str, Any], **options: Any) -> str:
    offer = load_requirements(case["paymentRequirements"])
    try:
        check_payment(
            load_payload(case["paymentPayload"]), [offer], latest_ledger=CASES["currentLedger"], **options
        )
    except PaymentRejected as refusal:
        return refusal.reason
    return "VALID"


@pytest.mark.parametrize("case", CASES["cases"], ids=[case["name"] for case in CASES["cases"]])
def test_the_verdict_is_the_official_one_or_a_documented_difference(case: dict[str, Any]) -> None:
    """The same word, not only the same side."""
    assert _verdict(case) == DIFFERENCES.get(case["name"], case["expected"])


def test_every_documented_difference_is_one() -> None:
    """A row that no longer differs has to go."""
    official = {case["name"]: case["expected"] for case in CASES["cases"]}
    assert all(official[name] != ours for name, ours in DIFFERENCES.items())


def test_a_known_facilitator_as_source_gets_the_official_verdict() -> None:
    """The address comes from `/supported` (signers)."""
    case = next(case for case in CASES["cases"] if case["name"] == "tx_source_facilitator")
    assert _verdict(case, facilitators=[JS["keys"]["facilitator"]["public"]]) == case["expected"]


@pytest.mark.parametrize("recorded", JS["payloads"])
def test_payments_of_the_official_client_are_valid(recorded: dict[str, Any]) -> None:
    """Every field is the one that the official SDK decoded."""
    payload = load_payload(recorded["paymentPayload"])
    checked = check_payment(payload, [payload.accepted], latest_ledger=JS["ledgerAtCreation"])
    assert _fields(checked) == {
        "from": recorded["decoded"]["from"],
        "to": recorded["decoded"]["to"],
        "amount": int(recorded["decoded"]["amount"]),
        "nonce": int(recorded["decoded"]["nonce"]),
        "expiration": recorded["decoded"]["signatureExpirationLedger"],
    }


def _fields(checked: CheckedPayment) -> dict[str, Any]:
    assert checked.signature_checked
    return {
        "from": checked.payer,
        "to": checked.pay_to,
        "amount": checked.amount,
        "nonce": checked.nonce,
        "expiration": checked.expiration_ledger,
    }


def test_a_real_testnet_payment_is_valid_until_its_expiration() -> None:
    """It was bought and settled; at its expiration ledger no later ledger can take it any more."""
    payload = decode_payment_signature(REAL["PAYMENT_SIGNATURE_header"])
    expiration = REAL["decoded"]["signatureExpirationLedger"]
    checked = check_payment(payload, [payload.accepted], latest_ledger=expiration - 1)
    assert (checked.nonce, checked.payer) == (
        int(REAL["decoded"]["nonce"]),
        REAL["settlementResponse"]["payer"],
    )
    with pytest.raises(PaymentRejected, match="expired"):
        check_payment(payload, [payload.accepted], latest_ledger=expiration)


def test_a_payment_that_a_relayer_rebuilt_is_valid() -> None:
    """The settled envelope of another real payment: source, fee and signatures are the relayer's."""
    accepted = PaymentRequirements(
        SETTLED["network"],
        SETTLED["asset"],
        int(SETTLED["amount"]),
        SETTLED["payTo"],
        max_timeout_seconds=600,
    )
    payload = PaymentPayload(accepted, SETTLED["envelopeXdr"])
    checked = check_payment(payload, [accepted], latest_ledger=SETTLED["ledger"])
    assert (checked.payer, checked.nonce) == (SETTLED["payer"], int(SETTLED["nonce"]))
    assert identify_payment(payload).nonce == int(SETTLED["nonce"])
