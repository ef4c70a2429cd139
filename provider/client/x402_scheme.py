"""Scheme `exact` on Stellar for clients of the `x402` Python package, which has none of its own (facts D7).

    client = x402ClientSync()
    register_exact_stellar_client(client, keypair, rpc_url=...)

The package is needed by whoever calls this, not by this module.
"""

from typing import Any, Protocol, TypeVar

from stellar_sdk import Keypair

from provider.client.sign import sign_payment
from provider.networks import TOKEN_DECIMALS, USDC
from provider.payments.models import SCHEME, PaymentRequirements


class _Client(Protocol):
    """What both `x402Client` and `x402ClientSync` have."""

    def register(self, network: str, client: Any) -> Any: ...


ClientT = TypeVar("ClientT", bound=_Client)


class ExactStellarScheme:
    """A `SchemeNetworkClient`: signs what the client has chosen to pay."""

    scheme = SCHEME

    def __init__(
        self, keypair: Keypair, *, rpc_url: str, ledger_seconds: float = 5.0, credentials: str = "v1"
    ) -> None:
        self._keypair, self._rpc_url = keypair, rpc_url
        self._ledger_seconds, self._credentials = ledger_seconds, credentials

    def create_payment_payload(self, requirements: Any) -> dict[str, Any]:
        """Sign one `x402.schemas.PaymentRequirements`; the client wraps the result."""
        payment = sign_payment(
            _from_x402(requirements),
            self._keypair,
            rpc_url=self._rpc_url,
            ledger_seconds=self._ledger_seconds,
            credentials=self._credentials,
        )
        return {"transaction": payment.transaction}

    @staticmethod
    def find_default_asset(asset: str, network: str) -> dict[str, Any] | None:
        """Know USDC, so that the package's spend controls let it pass and hold it to their cap."""
        if USDC.get(network) != asset:
            return None
        return {"asset": asset, "decimals": TOKEN_DECIMALS, "symbol": "USDC"}


def register_exact_stellar_client(
    client: ClientT, keypair: Keypair, *, rpc_url: str, **options: Any
) -> ClientT:
    """Register the scheme for `stellar:*`; options are those of `ExactStellarScheme`."""
    client.register("stellar:*", ExactStellarScheme(keypair, rpc_url=rpc_url, **options))
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
