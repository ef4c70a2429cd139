"""Read a 402, judge what it offers, and choose (x402 v2).

An offer is judged by itself, so that a bad one beside a good one does no harm, and is kept as it was spelled:
the payment shows it to the seller unchanged, with fields that only the seller knows.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from provider import strict_json
from provider.client.errors import CallRefused, NoAcceptableOffer
from provider.client.reading import printable
from provider.errors import CallError
from provider.networks import PASSPHRASES, USDC, is_account, is_contract, token_units
from provider.payments.headers import decode_object
from provider.payments.models import SCHEME, X402_VERSION, PaymentRequirements
from provider.payments.schemas import load_requirements

MOST_CHALLENGE_CHARS = 64 * 1024
MOST_CHALLENGE_DEPTH = 256
"""The document as a whole; an offer may be nested as deep as any JSON here (`strict_json.MAX_DEPTH`)."""
MOST_OFFER_DEPTH = 16
MOST_OFFERS = 64
MOST_AMOUNT = 2**127 - 1
"""A transfer's amount is an i128."""
MOST_SECONDS = 30 * 86_400
"""Longest validity that is signed: any holder of the payment may use it for so long."""
FLOWS = (None, "authorization", "upfront")
"""`extra.paymentFlow` that Stellar knows; the earlier in the list, the better for the buyer."""
SHOWN_CHARS = 70


@dataclass(frozen=True, slots=True)
class Offer:
    """One acceptable offer, and the object that it was read from."""

    terms: PaymentRequirements
    wire: Mapping[str, Any]

    @property
    def rank(self) -> tuple[bool, int]:
        """Order for the choice: charged after the work before charged upfront, then the cheapest."""
        return self.terms.extra.get("paymentFlow") == "upfront", self.terms.amount


@dataclass(frozen=True, slots=True)
class Policy:
    """What a buyer can and wants to pay."""

    payer: str
    network: str
    assets: Collection[str] = ()
    """Token contracts; empty: USDC alone."""
    payees: Collection[str] = ()


def read_challenge(header: str | None, body: bytes) -> dict[str, Any]:
    """Read a 402, from its header or, where a proxy dropped that, from its body.

    Raises:
        CallRefused: if it is no x402 v2 `PaymentRequired`.
    """
    try:
        challenge = _decode(header, body)
    except (CallError, ValueError, RecursionError) as error:
        raise CallRefused(f"The 402 answer cannot be read: {error}") from None
    version = challenge.get("x402Version")
    if version != X402_VERSION:
        raise CallRefused(f"The seller speaks x402 version {_clip(version)}; this buyer speaks version 2.")
    if not isinstance(challenge.get("accepts"), list):
        raise CallRefused("The 402 answer cannot be read: it has no list `accepts`.")
    return challenge


def choose(challenge: Mapping[str, Any], policy: Policy, most: Decimal) -> Offer:
    """Return the best acceptable offer; `most` in token units.

    Raises:
        NoAcceptableOffer: saying of each offer why not.
    """
    judged = [_judge(offer, policy, most) for offer in challenge["accepts"][:MOST_OFFERS]]
    good = [offer for offer in judged if isinstance(offer, Offer)]
    if not good:
        objections = dict.fromkeys(text for text in judged if isinstance(text, str))
        raise NoAcceptableOffer(
            f"No offer can be accepted: {'; '.join(objections) or 'nothing is on offer'}."
        )
    return min(good, key=lambda offer: offer.rank)


def _decode(header: str | None, body: bytes) -> dict[str, Any]:
    if header:
        return decode_object(header, max_chars=MOST_CHALLENGE_CHARS, max_depth=MOST_CHALLENGE_DEPTH)
    return strict_json.parse_object(body, max_depth=MOST_CHALLENGE_DEPTH)


def _judge(offer: Any, policy: Policy, most: Decimal) -> Offer | str:
    """Return an offer that can be paid, or what is wrong with it."""
    if not isinstance(offer, dict):
        return "an offer is no JSON object"
    if strict_json.depth(offer) > MOST_OFFER_DEPTH:
        return f"an offer is nested deeper than {MOST_OFFER_DEPTH} levels"
    if offer.get("scheme") != SCHEME or offer.get("network") != policy.network:
        kind = f"{_clip(offer.get('scheme'))} on {_clip(offer.get('network'))}"
        return f"{kind} is not what this buyer pays with"
    try:
        terms = load_requirements(offer)
    except CallError as error:
        return f"an offer cannot be read ({_clip(error.detail, 3 * SHOWN_CHARS)})"
    return next(_objections(terms, policy, most), None) or Offer(terms, offer)


def _objections(terms: PaymentRequirements, policy: Policy, most: Decimal) -> Iterator[str]:
    for objection in (_about_parties, _about_terms):
        yield from objection(terms, policy)
    if Decimal(price := token_units(terms.amount)) > most:
        yield f"{price} is more than the limit of {most}"


def _about_parties(terms: PaymentRequirements, policy: Policy) -> Iterator[str]:
    assert policy.network in PASSPHRASES
    if not is_contract(terms.asset):
        yield f"the token {_clip(terms.asset)} is no contract on Stellar"
    elif terms.asset not in (policy.assets or (USDC[policy.network],)):
        yield f"the token {terms.asset} is not accepted"
    if not (is_account(terms.pay_to) or is_contract(terms.pay_to)):
        yield f"payTo {_clip(terms.pay_to)} is neither an account (G…) nor a contract (C…)"
    elif policy.payees and terms.pay_to not in policy.payees:
        yield f"{terms.pay_to} is not among the payees that this buyer may pay"
    elif terms.pay_to == policy.payer:
        yield "payTo is this buyer's own account"


def _about_terms(terms: PaymentRequirements, policy: Policy) -> Iterator[str]:
    if not terms.amount:
        yield "an amount of 0 pays for nothing"
    if terms.amount > MOST_AMOUNT:
        yield f"an amount of {_clip(terms.amount)} is more than a transfer can move"
    if terms.max_timeout_seconds > MOST_SECONDS:
        yield f"a payment that stays valid for {terms.max_timeout_seconds} s is not signed"
    if terms.extra.get("areFeesSponsored") is not True:
        yield "the fees are not sponsored"
    if (flow := terms.extra.get("paymentFlow")) not in FLOWS:
        yield f"the payment flow {_clip(flow)} is unknown"


def _clip(value: object, most: int = SHOWN_CHARS) -> str:
    """Show a value of the seller's, which may be anything, in a sentence."""
    return printable(value if isinstance(value, str) else repr(value), most)
