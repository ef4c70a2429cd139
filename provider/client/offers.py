"""Choose what to accept: known network and token, within the limit, cheapest first."""

import secrets
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from provider.client.errors import NoAcceptableOffer
from provider.networks import PASSPHRASES, USDC, token_units
from provider.payments.models import SCHEME, PaymentChallenge, PaymentRequirements

IDENTIFIER = "payment-identifier"


def choose(
    challenge: PaymentChallenge, *, max_price: Decimal, networks: Collection[str], assets: Collection[str]
) -> PaymentRequirements:
    """Return the cheapest acceptable offer; `max_price` in token units, no `assets` means USDC alone.

    Raises:
        NoAcceptableOffer: saying of each offer why not.
    """
    judged = [(offer, _objection(offer, max_price, networks, assets)) for offer in challenge.accepts]
    good = [offer for offer, objection in judged if objection is None]
    if not good:
        told = "; ".join(objection for _, objection in judged if objection) or "nothing is on offer"
        raise NoAcceptableOffer(f"No offer can be accepted: {told}.")
    return min(good, key=lambda offer: offer.amount)


def _objection(
    offer: PaymentRequirements, max_price: Decimal, networks: Collection[str], assets: Collection[str]
) -> str | None:
    if offer.scheme != SCHEME or offer.network not in PASSPHRASES or offer.network not in networks:
        return f"{offer.scheme} on {offer.network} is not what this buyer pays with"
    if offer.asset not in (assets or (USDC[offer.network],)):
        return f"the token {offer.asset} is not accepted"
    if offer.extra.get("areFeesSponsored") is not True:
        return "the fees are not sponsored"
    price = token_units(offer.amount)
    return f"{price} is more than the limit of {max_price}" if Decimal(price) > max_price else None


def identifier_extension(challenge: PaymentChallenge) -> Mapping[str, Any]:
    """Name the payment where the service understands it, so that nobody else can ask for the job (J3)."""
    declared = challenge.extensions.get(IDENTIFIER)
    if not isinstance(declared, Mapping):
        return {}
    info = declared.get("info")
    named = {**(info if isinstance(info, Mapping) else {}), "id": f"pay_{secrets.token_hex(16)}"}
    return {IDENTIFIER: {**declared, "info": named}}
