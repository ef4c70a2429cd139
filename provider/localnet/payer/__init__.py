"""The buyer's side: sign payments for a G account, and follow the 402 dance without ever paying twice."""

from provider.localnet.payer.buyer import Buyer
from provider.localnet.payer.purchase import Purchase
from provider.localnet.payer.sign import sign_payment

__all__ = ["Buyer", "Purchase", "sign_payment"]
