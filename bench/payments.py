"""Signed payments in advance: what a buyer does costs the seller nothing, so it is not measured."""

import base64
import json
from dataclasses import replace

from stellar_sdk import Keypair

from provider.payments.models import PaymentPayload, PaymentRequirements
from provider.payments.schemas import dump_payload
from tests.support.payments import signed_payment

EXPIRATION_LEDGER = 4_000_000_000


def payments(offer: PaymentRequirements, count: int) -> list[PaymentPayload]:
    """Sign so many different payments of one buyer."""
    buyer = Keypair.random()
    return [signed_payment(offer, buyer, EXPIRATION_LEDGER, nonce=nonce) for nonce in range(1, count + 1)]


def header(payment: PaymentPayload) -> str:
    """Spell a PAYMENT-SIGNATURE header."""
    return base64.b64encode(
        json.dumps(dump_payload(replace(payment)), separators=(",", ":")).encode()
    ).decode()
