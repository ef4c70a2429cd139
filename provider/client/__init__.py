"""The buyer's side: buy calls from any seller on x402 and Stellar, without ever paying one twice.

`AsyncBuyer` needs httpx, which the extra `async` installs; all else is in the bare package.
"""

from typing import TYPE_CHECKING, Any

from provider.client.buyer import Buyer
from provider.client.delivery import Delivery
from provider.client.errors import BuyerError, NothingPaid, Paid, Undecided
from provider.client.journal import Journal
from provider.client.limits import Limits, Quote
from provider.client.payment import Payment
from provider.client.sign import sign_payment
from provider.client.signer import Signer

if TYPE_CHECKING:
    from provider.client.aio import AsyncBuyer

__all__ = [
    "AsyncBuyer",
    "Buyer",
    "BuyerError",
    "Delivery",
    "Journal",
    "Limits",
    "NothingPaid",
    "Paid",
    "Payment",
    "Quote",
    "Signer",
    "Undecided",
    "sign_payment",
]


def __getattr__(name: str) -> Any:
    if name != "AsyncBuyer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from provider.client.aio import AsyncBuyer

    return AsyncBuyer
