"""How much a buyer may spend, where, and for whom it must ask first."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit

from provider.client.errors import LimitReached
from provider.client.payment import Payment
from provider.networks import token_units
from provider.payments.models import PaymentRequirements

DAY_SECONDS = 86_400
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Quote:
    """What a purchase would cost, as the approval hook sees it."""

    url: str
    input: Any = field(repr=False)
    price: str
    """In token units."""
    offer: PaymentRequirements
    description: str = ""
    """The seller's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a buyer may spend; amounts in token units. Of each token of each network, on its own.

    A payment counts from its signature on, and until the chain proves that it was not made. Limits for a day
    and in total hold for all processes that share a journal, and without one for a `Buyer` only.
    """

    per_call: Decimal | str | int = Decimal(1)
    per_day: Decimal | str | int | None = None
    """Within any 24 hours."""
    total: Decimal | str | int | None = None
    origins: Collection[str] = ()
    """The only sellers to call, as `https://host[:port]`; empty: any."""
    payees: Collection[str] = ()
    """The only accounts or contracts to pay; empty: any."""
    approve: Callable[[Quote], Any] | None = None
    """Called before each signature; anything but True refuses. `AsyncBuyer` takes coroutine functions too."""

    def __post_init__(self) -> None:
        for name in ("per_call", "per_day", "total"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, to_decimal(value))
        object.__setattr__(self, "origins", frozenset(origin_of(url) for url in self.origins))

    def most(self, max_price: Decimal | str | int | None) -> Decimal:
        """The most that one call may cost."""
        per_call = to_decimal(self.per_call)
        return per_call if max_price is None else min(per_call, to_decimal(max_price))

    def check_origin(self, url: str) -> None:
        """Raise LimitReached for a seller that is not on the list."""
        if self.origins and origin_of(url) not in self.origins:
            raise LimitReached(f"{origin_of(url)} is not among the sellers that this buyer may call.")

    def check_budget(self, offer: PaymentRequirements, counted: Iterable[Payment], now: float) -> None:
        """Raise LimitReached if one more payment on top of those that count would be too much."""
        same = [one for one in counted if (one.network, one.asset) == (offer.network, offer.asset)]
        today = [one for one in same if one.signed_at > now - DAY_SECONDS]
        for limit, payments, period in (
            (self.per_day, today, "within 24 hours"),
            (self.total, same, "in total"),
        ):
            spent = sum(one.amount for one in payments)
            if limit is not None and Decimal(token_units(spent + offer.amount)) > to_decimal(limit):
                raise LimitReached(
                    f"{token_units(offer.amount)} is too much: of {limit} {period}, "
                    f"{token_units(spent)} is spent or reserved."
                )


def to_decimal(value: Decimal | str | float) -> Decimal:
    """Read an amount in token units. Raises ValueError."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{value!r} is not an amount") from None
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{value!r} is not an amount")
    return amount


def origin_of(url: str) -> str:
    """Spell scheme, host and port of a URL, a usual port left out. Raises ValueError."""
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    if scheme not in _PORTS or not host:
        raise ValueError(f"{url!r} is not the URL of a seller: it begins with neither http:// nor https://")
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}" + ("" if parts.port in (None, _PORTS[scheme]) else f":{parts.port}")
