"""The only thing a payment may do is the one transfer it was signed for."""

from collections.abc import Iterable
from typing import NoReturn

from stellar_sdk import StrKey, xdr

from provider.chain.onchain import amount_of
from provider.errors import PaymentRejected
from provider.payments import reasons
from provider.payments.models import CheckedPayment
from provider.payments.stellar import envelope

_PREFIX = "invalid_exact_stellar_payload_"
_TOPICS = (3, 4)
"""SEP-41 has `transfer, from, to`; an asset contract adds the asset's name."""


def check_only_transfer(events: Iterable[str], payment: CheckedPayment) -> None:
    """Refuse a simulation whose contract events are anything but the payment's transfer.

    Args:
        events: base64 of DiagnosticEvent, as the RPC gives them.
    """
    shown = [event for event in map(_decoded, events) if event.type == xdr.ContractEventType.CONTRACT]
    for event in shown:
        _check_is_transfer_of(event, payment.asset)
    if not shown:
        _refuse("no_transfer_events", "The simulation shows no transfer.")
    if len(shown) > 1:
        _refuse("multiple_transfers", f"The simulation shows {len(shown)} transfers, not one.")
    _check_terms(_body(shown[0]), payment)


def _decoded(text: str) -> xdr.ContractEvent:
    try:
        return xdr.DiagnosticEvent.from_xdr(text).event
    except Exception:
        # What the node shows but we cannot read might be a second transfer.
        raise PaymentRejected(
            reasons.SIMULATION_FAILED, "The simulation shows an event that is not XDR."
        ) from None


def _check_is_transfer_of(event: xdr.ContractEvent, asset: str) -> None:
    topics = _body(event).topics
    symbol = topics[0].sym if topics else None
    if len(topics) not in _TOPICS or symbol is None or symbol.sc_symbol != b"transfer":
        _refuse("event_not_transfer", "The simulation shows an event that is no transfer.")
    if event.contract_id is None:
        _refuse("event_missing_contract_id", "The simulation shows an event of no contract.")
    if StrKey.encode_contract(event.contract_id.contract_id.hash) != asset:
        _refuse("event_wrong_asset", "The simulation shows a transfer of another asset.")


def _check_terms(body: xdr.ContractEventV0, payment: CheckedPayment) -> None:
    sender, recipient = (envelope.address_argument(topic) for topic in body.topics[1:3])
    if sender != payment.payer:
        _refuse("event_wrong_from", "The transfer of the simulation is not from the payer.")
    if recipient != payment.pay_to:
        _refuse("event_wrong_to", "The transfer of the simulation does not go to payTo.")
    if amount_of(body.data) != payment.amount:
        _refuse("event_wrong_amount", "The transfer of the simulation has another amount.")


def _body(event: xdr.ContractEvent) -> xdr.ContractEventV0:
    if event.body.v0 is None:
        _refuse("event_not_transfer", "The simulation shows an event of an unknown version.")
    return event.body.v0


def _refuse(reason: str, detail: str) -> NoReturn:
    raise PaymentRejected(_PREFIX + reason, detail)
