"""A signed payment and the call it was signed for: all that is needed to ask again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from provider.networks import token_units


@dataclass(frozen=True, slots=True)
class Payment:
    """One signed payment. It is JSON by `as_json`, and read back by `from_json`."""

    id: str
    """The payment identifier, which the seller is shown where it declares the extension."""
    signed_at: float
    """Unix seconds."""
    method: str
    url: str
    input: Any = field(repr=False)
    header: str = field(repr=False)
    """The PAYMENT-SIGNATURE. Sent again it brings the same job again (J3)."""
    network: str
    asset: str
    amount: int
    pay_to: str
    payer: str
    nonce: int
    expiration_ledger: int
    signed_ledger: int
    """The latest ledger at the time of signing."""
    service: str = ""
    """Of a seller that runs this software; empty for all others."""
    public_url: str = ""

    @property
    def price(self) -> str:
        """The amount in token units."""
        return token_units(self.amount)

    def as_json(self) -> dict[str, Any]:
        """Spell the payment as a JSON object."""
        return asdict(self) | {"amount": str(self.amount), "nonce": str(self.nonce)}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> "Payment":
        """Read what `as_json` spelled; later fields are ignored. Raises KeyError, TypeError, ValueError."""
        known = {f.name: obj[f.name] for f in fields(cls) if f.name in obj}
        return cls(**known | {"amount": int(known["amount"]), "nonce": int(known["nonce"])})
