"""A refused payment that no claim knows may have been made long ago: then it is never answered 402 (H4)."""

import math

import structlog

from provider.chain.onchain import Transfer
from provider.chain.past import PastPayments
from provider.errors import ChainUnreachable, PaymentTooOld, PaymentUsed, RpcError
from provider.jobs.claim.paid_call import PaidCall
from provider.payments.models import PaymentRequirements
from provider.payments.stellar.check import signed_expiration

UNSEEN = "past_payment_unseen"
FASTEST_LEDGER_SECONDS = 4.0
"""No ledger closes faster: so many ledgers before its expiration a payment was not signed yet."""

log = structlog.get_logger()


def refuse_used(past: PastPayments | None, call: PaidCall, offer: PaymentRequirements) -> None:
    """Raise PaymentUsed, PaymentTooOld or ChainUnreachable unless the chain shows that it was not made.

    A forged one raises PaymentRejected before the chain is asked. Without an RPC nothing can be seen.
    """
    if past is None:
        return
    expiration, identity = signed_expiration(call.payload), call.identity
    wanted = Transfer(identity.asset, identity.payer, offer.pay_to, offer.amount, identity.nonce)
    first = max(1, expiration - math.ceil(offer.max_timeout_seconds / FASTEST_LEDGER_SECONDS))
    try:
        found = past.find(wanted, first=first, expiration=expiration)
    except RpcError as error:
        log.warning(UNSEEN, detail=str(error))
        raise ChainUnreachable from error
    if found.used is None:
        raise PaymentTooOld
    if found.used:
        raise PaymentUsed(**{"transaction": found.transaction} if found.transaction else {})
