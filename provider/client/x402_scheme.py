"""Scheme `exact` on Stellar for clients of the `x402` Python package, which has none of its own (facts D7).

    client = register_exact_stellar_client(x402ClientSync(), keypair, rpc_url=...)

It fits `x402ClientSync` and `x402Client`, so requests, httpx and MCP sessions alike. The package is needed by
the caller, not by this module.
"""

import secrets
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from stellar_sdk import Keypair

from provider.client.payload import IDENTIFIER, named
from provider.client.sign import sign_payment
from provider.client.signer import Signer
from provider.networks import TOKEN_DECIMALS, USDC
from provider.payments.models import SCHEME, PaymentRequirements

SCHEME_EXTENSIONS = "__extensions"
"""Key under which the package takes what a scheme adds to the seller's extensions."""


class _Client(Protocol):
    """What both `x402Client` and `x402ClientSync` have."""

    def register(self, network: str, client: Any) -> Any: ...


ClientT = TypeVar("ClientT", bound=_Client)


class ExactStellarScheme:
    """A `SchemeNetworkClient`: signs what the client has chosen to pay."""

    scheme = SCHEME

    def __init__(
        self,
        payer: Keypair | Signer,
        *,
        rpc_url: str,
        ledger_seconds: float | None = None,
        credentials: str = "v1",
    ) -> None:
        self._signer, self._rpc_url = Signer.of(payer), rpc_url
        self._ledger_seconds, self._credentials = ledger_seconds, credentials

    def create_payment_payload(
        self, requirements: Any, extensions: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Sign one `x402.schemas.PaymentRequirements`; the client wraps the result.

        The payment is named where the seller declares `payment-identifier`, so that the seller knows it again
        when an answer was lost (standard J3, H8).
        """
        payment = sign_payment(
            _from_x402(requirements),
            self._signer,
            rpc_url=self._rpc_url,
            ledger_seconds=self._ledger_seconds,
            credentials=self._credentials,
        )
        declared = (extensions or {}).get(IDENTIFIER)
        if not isinstance(declared, Mapping):
            return {"transaction": payment.transaction}
        identifier = named(declared, f"pay_{secrets.token_hex(16)}")
        return {"transaction": payment.transaction, SCHEME_EXTENSIONS: {IDENTIFIER: identifier}}

    @staticmethod
    def find_default_asset(asset: str, network: str) -> dict[str, Any] | None:
        """Know USDC, so that the package's spend controls let it pass and hold it to their cap."""
        if USDC.get(network) != asset:
            return None
        return {"asset": asset, "decimals": TOKEN_DECIMALS, "symbol": "USDC"}


def register_exact_stellar_client(
    client: ClientT, payer: Keypair | Signer, *, rpc_url: str, **options: Any
) -> ClientT:
    """Register the scheme for `stellar:*`; options are those of `ExactStellarScheme`."""
    client.register("stellar:*", ExactStellarScheme(payer, rpc_url=rpc_url, **options))
    return client


def _from_x402(requirements: Any) -> PaymentRequirements:
    return PaymentRequirements(
        network=str(requirements.network),
        asset=requirements.asset,
        amount=int(requirements.amount),
        pay_to=requirements.pay_to,
        max_timeout_seconds=requirements.max_timeout_seconds,
        extra=dict(requirements.extra or {}),
        scheme=requirements.scheme,
    )
