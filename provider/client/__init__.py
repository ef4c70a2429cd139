"""The buyer's side: sign payments for a G account, and follow the 402 dance without ever paying twice."""

from provider.client.buyer import Buyer
from provider.client.purchase import Purchase
from provider.client.sign import sign_payment

__all__ = ["Buyer", "Purchase", "sign_payment"]
