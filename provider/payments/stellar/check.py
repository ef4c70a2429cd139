"""The offline check of a payment (standard §4), and its identity (J2, J3).

The order is that of the official facilitator, so that both give the same reason where both can decide; cheap
rules come before the signature. What only simulation can tell (balance, trustline, fees) is left to the
facilitator.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import fields

from provider.errors import PaymentLooksUsed, PaymentRejected
from provider.networks import NETWORK_IDS, is_account
from provider.payments import reasons
from provider.payments.models import (
    SCHEME,
    X402_VERSION,
    CheckedPayment,
    PaymentIdentity,
    PaymentPayload,
    PaymentRequirements,
)
from provider.payments.schemas import dump_requirements
from provider.payments.stellar import envelope
from provider.payments.stellar.envelope import PaymentEnvelope
from provider.payments.stellar.signature import check_signature, signing_keys
from provider.payments.stellar.signed import Authorization, ContractCall
from provider.strict_json import same_json

EXPIRATION_TOLERANCE_LEDGERS = 2

_PLAIN_FIELDS = [f.name for f in fields(PaymentRequirements) if f.name != "extra"]


def identify_payment(payload: PaymentPayload) -> PaymentIdentity:
    """Decode which payment this is, without judging whether it pays (standard H2: replays come first).

    Raises:
        PaymentRejected: if the payload has no identity: another network, nothing decodable, no nonce.
    """
    network = _known_network(payload.accepted.network)
    decoded = envelope.decode(payload.transaction)
    call, authorization = decoded.call(), decoded.authorization()
    return PaymentIdentity(
        network,
        call.contract,
        authorization.address,
        authorization.nonce,
        decoded.digest,
        authorization.digest,
    )


def payment_signers(payload: PaymentPayload) -> list[str]:
    """Return the keys that signed a payment, as accounts (G…).

    An account's own key is among them. Those of a contract's signature are found where the wallet signs the
    authorisation itself with ed25519.
    """
    authorization = envelope.decode(payload.transaction).authorization()
    own = [authorization.address] if is_account(authorization.address) else []
    return own + signing_keys(authorization, payload.accepted.network)


def signed_expiration(payload: PaymentPayload) -> int:
    """Return the expiration ledger of a payment. Raises PaymentRejected if its signature does not fit."""
    authorization = envelope.decode(payload.transaction).authorization()
    check_signature(authorization, payload.accepted.network)
    return authorization.expiration_ledger


def check_payment(
    payload: PaymentPayload,
    offers: Sequence[PaymentRequirements],
    *,
    latest_ledger: int | None,
    ledger_seconds: float = 5.0,
    shortest_ledger_seconds: float | None = None,
    needed_seconds: float = 0,
    facilitators: Collection[str] = (),
) -> CheckedPayment:
    """Judge a payment as far as that needs no network.

    Args:
        latest_ledger: None when the ledger clock cannot answer: the expiration is then not compared.
        shortest_ledger_seconds: what the payer may have taken a ledger for; default `ledger_seconds`.
        needed_seconds: how long the authorisation has to stay valid (S2: work and settlement).
        facilitators: addresses that may neither pay nor be a source, if they are known.

    Raises:
        PaymentRejected: with the x402 name of the first rule that is broken.
    """
    offer = _nearest_offer(payload.accepted, offers)
    _check_protocol(payload, offer)
    decoded = envelope.decode(payload.transaction)
    if facilitators:
        _check_sources(decoded, facilitators)
    call = decoded.call()
    payer = _check_transfer(call, offer, facilitators)
    _check_accepted(payload.accepted, offer)
    authorization = decoded.authorization()
    _check_authorization(authorization, call, payer, facilitators)
    if latest_ledger is not None:
        needed = math.ceil(needed_seconds / ledger_seconds - 1e-6)  # Not of a rounding error.
        allowed = math.ceil(offer.max_timeout_seconds / (shortest_ledger_seconds or ledger_seconds))
        _check_expiration(authorization.expiration_ledger - latest_ledger, needed, allowed)
    return CheckedPayment(
        network=offer.network,
        asset=offer.asset,
        payer=payer,
        pay_to=offer.pay_to,
        amount=offer.amount,
        nonce=authorization.nonce,
        expiration_ledger=authorization.expiration_ledger,
        credentials=authorization.credentials,
        signature_checked=check_signature(authorization, offer.network),
        envelope_digest=decoded.digest,
    )


def _nearest_offer(
    accepted: PaymentRequirements, offers: Sequence[PaymentRequirements]
) -> PaymentRequirements:
    """Return the offer that was accepted, or the one most like it: a refusal then says what differs."""
    if not offers:
        raise PaymentRejected(reasons.INVALID_PAYMENT_REQUIREMENTS, "Nothing is for sale here.")
    if len(offers) == 1:
        return offers[0]
    return min(offers, key=lambda offer: len(_differences(accepted, offer)))


def _differences(accepted: PaymentRequirements, offer: PaymentRequirements) -> list[str]:
    """Name the fields that differ; `extra` may differ in key order only."""
    differ = [name for name in _PLAIN_FIELDS if getattr(accepted, name) != getattr(offer, name)]
    return differ if same_json(accepted.extra, offer.extra) else [*differ, "extra"]


def _check_protocol(payload: PaymentPayload, offer: PaymentRequirements) -> None:
    if payload.x402_version != X402_VERSION:
        raise PaymentRejected(
            reasons.INVALID_X402_VERSION, f"x402Version is {payload.x402_version}, only 2 is understood."
        )
    if {payload.accepted.scheme, offer.scheme} != {SCHEME}:
        raise PaymentRejected(
            reasons.UNSUPPORTED_SCHEME, f"The scheme is {payload.accepted.scheme!r}, not 'exact'."
        )
    if _known_network(payload.accepted.network) != _known_network(offer.network):
        raise PaymentRejected(
            reasons.NETWORK_MISMATCH,
            f"The payment is for {payload.accepted.network}, the offer for {offer.network}.",
        )


def _known_network(network: str) -> str:
    if network not in NETWORK_IDS:
        raise PaymentRejected(
            reasons.INVALID_NETWORK, f"Unknown network {network!r}; known are {', '.join(NETWORK_IDS)}."
        )
    return network


def _check_sources(decoded: PaymentEnvelope, facilitators: Collection[str]) -> None:
    decoded.operation()  # Any other operation is refused first, whatever its sender.
    if any(source in facilitators for source in envelope.sources(decoded.transaction)):
        raise PaymentRejected(reasons.UNSAFE_SOURCE, "A source account is the facilitator's.")


def _check_transfer(call: ContractCall, offer: PaymentRequirements, facilitators: Collection[str]) -> str:
    """Compare the call with the offer, argument by argument; returns the payer."""
    if call.contract != offer.asset:
        raise PaymentRejected(reasons.WRONG_ASSET, f"The transfer is not of the asset {offer.asset}.")
    if call.function != b"transfer" or len(call.arguments) != 3:
        raise PaymentRejected(reasons.WRONG_FUNCTION_NAME, "The call is not transfer(from, to, amount).")
    payer, pay_to, amount = call.arguments
    if not isinstance(payer, str):
        raise PaymentRejected(reasons.SIMULATION_FAILED, "The payer is neither an account nor a contract.")
    if payer in facilitators:
        raise PaymentRejected(reasons.FACILITATOR_IS_PAYER, "The payer is the facilitator.")
    if pay_to != offer.pay_to:
        raise PaymentRejected(reasons.WRONG_RECIPIENT, f"The transfer does not go to {offer.pay_to}.")
    if amount != offer.amount:
        raise PaymentRejected(reasons.WRONG_AMOUNT, f"The transfer is not of exactly {offer.amount} (i128).")
    return payer


def _check_accepted(accepted: PaymentRequirements, offer: PaymentRequirements) -> None:
    if _differences(accepted, offer):
        theirs, ours = dump_requirements(accepted), dump_requirements(offer)
        shown = "; ".join(
            f"{name} is {theirs[name]!r}, offered is {ours[name]!r}"
            for name in ours
            if not same_json(theirs[name], ours[name])
        )
        raise PaymentRejected(
            reasons.INVALID_PAYMENT_REQUIREMENTS, f"`accepted` is not what this service offers: {shown}."
        )


def _check_authorization(
    authorization: Authorization, call: ContractCall, payer: str, facilitators: Collection[str]
) -> None:
    if authorization.address in facilitators:
        raise PaymentRejected(reasons.FACILITATOR_IN_AUTH, "The authorisation is by the facilitator.")
    if authorization.address != payer:
        raise PaymentRejected(reasons.MISSING_PAYER_SIGNATURE, f"The payer {payer} did not authorise it.")
    if authorization.is_nested:
        raise PaymentRejected(reasons.HAS_SUBINVOCATIONS, "The authorisation covers more than the transfer.")
    if authorization.raw_call != call.raw:
        raise PaymentRejected(reasons.SIMULATION_FAILED, "The authorisation is for another call.")


def _check_expiration(ledgers: int, needed: int, allowed: int) -> None:
    """Compare the ledgers of validity that are left with those needed, and those that x402 allows."""
    if ledgers <= 0:
        raise PaymentLooksUsed(reasons.SIMULATION_FAILED, f"It expired {-ledgers} ledgers ago.")
    if ledgers < needed:
        raise PaymentLooksUsed(
            reasons.EXPIRATION_TOO_SOON,
            f"It expires in {ledgers} ledgers, {needed} are needed; sign with the whole maxTimeoutSeconds.",
        )
    if ledgers > allowed + EXPIRATION_TOLERANCE_LEDGERS:
        raise PaymentRejected(
            reasons.EXPIRATION_TOO_FAR, f"It is valid for more than {allowed} ledgers from now."
        )
