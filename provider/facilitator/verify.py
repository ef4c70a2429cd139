"""Would the chain take this payment, and would it do nothing else? (standard §15, facts A4.1)"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from stellar_sdk import xdr

from provider.chain.node import Clock, Node
from provider.errors import PaymentRejected
from provider.facilitator.config import FacilitatorConfig
from provider.facilitator.events import check_only_transfer
from provider.networks import PASSPHRASES
from provider.payments import reasons
from provider.payments.models import CheckedPayment, PaymentPayload, PaymentRequirements
from provider.payments.stellar import envelope
from provider.payments.stellar.check import check_payment

FEE_BELOW_MINIMUM = "invalid_exact_stellar_payload_fee_below_minimum"
FEE_EXCEEDS_MAXIMUM = "invalid_exact_stellar_payload_fee_exceeds_maximum"


@dataclass(frozen=True, slots=True)
class Verified:
    """A payment the chain would take now, and what it takes to submit it."""

    payment: CheckedPayment
    operation: xdr.InvokeHostFunctionOp
    transaction_data: xdr.SorobanTransactionData
    """From our own simulation: the buyer's footprint and fee are never signed."""
    clock: Clock

    @property
    def resource_fee(self) -> int:
        return self.transaction_data.resource_fee.int64


class Verifier:
    """Judges payments. `own` are the addresses that must have no part in what they submit."""

    def __init__(self, node: Node, config: FacilitatorConfig, own: Collection[str]) -> None:
        self._node, self._config, self._own = node, config, frozenset(own)

    def _check_served(self, requirements: PaymentRequirements) -> None:
        lists = ((requirements.pay_to, self._config.payees), (requirements.asset, self._config.assets))
        for given, served in lists:
            if served and given not in served:
                detail = f"This facilitator does not serve {given}."
                raise PaymentRejected(reasons.INVALID_PAYMENT_REQUIREMENTS, detail)

    def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> Verified:
        """Judge a payment.

        Raises:
            PaymentRejected: with the official reason.
            RpcError: if the node does not answer; the payment may be fine.
        """
        if requirements.network in PASSPHRASES and requirements.network != self._config.network:
            raise PaymentRejected(
                reasons.INVALID_NETWORK, f"This facilitator serves {self._config.network} only."
            )
        self._check_served(requirements)
        clock = self._node.clock()
        payment = check_payment(
            _as_offered(payload, requirements),
            [requirements],
            latest_ledger=clock.ledger,
            ledger_seconds=self._config.ledger_seconds,
            facilitators=self._own,
        )
        transaction = envelope.decode(payload.transaction).transaction
        return self._simulated(payment, transaction, payload.transaction, clock)

    def _simulated(
        self, payment: CheckedPayment, transaction: xdr.Transaction, text: str, clock: Clock
    ) -> Verified:
        simulation = self._node.simulate(text)
        if simulation.error is not None:
            raise PaymentRejected(reasons.SIMULATION_FAILED, _first_line(simulation.error))
        self._check_offered_fee(transaction.fee.uint32, simulation.min_resource_fee)
        check_only_transfer(simulation.events, payment)
        data = xdr.SorobanTransactionData.from_xdr(simulation.transaction_data)
        data.resource_fee = xdr.Int64(max(data.resource_fee.int64, simulation.min_resource_fee))
        verified = Verified(payment, envelope.invoke_operation(transaction), data, clock)
        self._check_own_fee(verified)
        return verified

    def _check_offered_fee(self, offered: int, needed: int) -> None:
        """Hold the buyer's fee to the official bounds, so that verdicts agree; it is not what we sign."""
        if offered < needed:
            raise PaymentRejected(
                FEE_BELOW_MINIMUM, f"The fee is {offered} stroops, resources need {needed}."
            )
        if offered > self._config.max_fee:
            raise PaymentRejected(
                FEE_EXCEEDS_MAXIMUM,
                f"The fee is {offered} stroops, at most {self._config.max_fee} are allowed.",
            )

    def _check_own_fee(self, verified: Verified) -> None:
        total = verified.resource_fee + self._config.inclusion_fee
        if total > self._config.max_fee:
            raise PaymentRejected(
                FEE_EXCEEDS_MAXIMUM,
                f"Settling would cost {total} stroops, at most {self._config.max_fee} are allowed.",
            )


def _as_offered(payload: PaymentPayload, requirements: PaymentRequirements) -> PaymentPayload:
    """Leave to the seller whether `accepted` is his offer: a facilitator judges the transfer alone."""
    accepted = replace(requirements, scheme=payload.accepted.scheme, network=payload.accepted.network)
    return replace(payload, accepted=accepted)


def _first_line(text: str) -> str:
    """The gist of a host error: its name, and the newest diagnostic event if there is one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    newest = [line for line in lines if line.startswith("0:")]
    return "; ".join([*lines[:1], *newest])[:300]
