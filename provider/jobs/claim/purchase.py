"""What a paid call looks like on record before it is one."""

import json
from typing import Any

from provider.jobs.model.job import Draft, Terms
from provider.jobs.model.status import Status
from provider.jobs.store.claims import Purchase
from provider.payments.models import CheckedPayment, PaymentRequirements
from provider.payments.schemas import dump_payload, dump_requirements
from provider.services import ChargePolicy
from provider.settings import Settings


def draft_of(
    purchase: Purchase,
    value: dict[str, Any],
    offer: PaymentRequirements,
    checked: CheckedPayment,
    *,
    claim_ledger: int | None,
    window_seconds: float,
    settings: Settings,
) -> Draft:
    """Write down the job of a payment that was checked against an offer."""
    service, window = purchase.service, max(0.001, window_seconds)
    upfront = service.charge is ChargePolicy.UPFRONT
    wire = [dump_payload(purchase.payload), dump_requirements(offer)]
    return Draft(
        status=Status.PENDING if upfront else Status.QUEUED,
        terms=Terms(
            charge=service.charge,
            network=checked.network,
            asset=checked.asset,
            payer=checked.payer,
            pay_to=checked.pay_to,
            amount=checked.amount,
            nonce=checked.nonce,
            expiration_ledger=checked.expiration_ledger,
            claim_ledger=claim_ledger,
            max_timeout_seconds=service.max_timeout_seconds,
        ),
        input=json.dumps(value, separators=(",", ":")),
        payment=json.dumps(wire, separators=(",", ":")),
        window_seconds=0 if upfront else window,
        expires_seconds=service.max_timeout_seconds + settings.orphan_margin_seconds,
        look_seconds=settings.sweep_seconds if upfront else window,
    )
