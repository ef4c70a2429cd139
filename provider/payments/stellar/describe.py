"""Describe a payment as far as it can be read, valid or not."""

from contextlib import suppress
from typing import Any

from stellar_sdk import xdr

from provider.errors import PaymentRejected
from provider.payments.models import CheckedPayment, PaymentPayload
from provider.payments.stellar import envelope

FIELDS = (
    "network",
    "asset",
    "payer",
    "payTo",
    "amount",
    "nonce",
    "expirationLedger",
    "credentials",
    "signatureChecked",
)


def describe_checked(payment: CheckedPayment) -> dict[str, Any]:
    """Spell a checked payment for JSON; `amount` and `nonce` can exceed 53 bits and are strings."""
    return {
        "network": payment.network,
        "asset": payment.asset,
        "payer": payment.payer,
        "payTo": payment.pay_to,
        "amount": str(payment.amount),
        "nonce": str(payment.nonce),
        "expirationLedger": payment.expiration_ledger,
        "credentials": payment.credentials,
        "signatureChecked": payment.signature_checked,
    }


def describe_payload(payload: PaymentPayload) -> dict[str, Any]:
    """Decode every field that can be decoded from a payment that was refused; the others are None."""
    found: dict[str, Any] = dict.fromkeys(FIELDS) | {
        "network": payload.accepted.network,
        "signatureChecked": False,
    }
    with suppress(PaymentRejected):
        operation = _first_invocation(envelope.decode(payload.transaction).transaction)
        if operation is not None:
            found |= _call_fields(operation) | _authorization_fields(operation)
    return found


def _first_invocation(transaction: xdr.Transaction) -> xdr.InvokeHostFunctionOp | None:
    operations = [operation.body.invoke_host_function_op for operation in transaction.operations]
    return next((operation for operation in operations if operation is not None), None)


def _call_fields(operation: xdr.InvokeHostFunctionOp) -> dict[str, Any]:
    try:
        call = envelope.read_call(envelope.contract_call(operation))
    except PaymentRejected:
        return {}
    payer, pay_to, amount = (*call.arguments, None, None, None)[:3]
    return {
        "asset": call.contract,
        "payer": payer if isinstance(payer, str) else None,
        "payTo": pay_to if isinstance(pay_to, str) else None,
        "amount": str(amount) if isinstance(amount, int) else None,
    }


def _authorization_fields(operation: xdr.InvokeHostFunctionOp) -> dict[str, Any]:
    for entry in operation.auth:
        with suppress(PaymentRejected):
            read = envelope.authorization(entry)
            return {
                "nonce": str(read.nonce),
                "expirationLedger": read.expiration_ledger,
                "credentials": read.credentials,
            }
    return {"credentials": "source_account"} if operation.auth else {}
