"""What a buyer gets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from provider.payments.models import PaymentRequirements, SettlementResponse

FINAL = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Purchase:
    """The last answer to a call, and what was paid for it."""

    status: int
    """HTTP status of the last answer."""
    body: Mapping[str, Any] | None = None
    """The job object, or what a free service answered."""
    offer: PaymentRequirements | None = None
    """What was accepted and signed; None when the service wanted no payment."""
    header: str | None = None
    """The PAYMENT-SIGNATURE: whoever sends it again gets this job again."""
    settlement: SettlementResponse | None = None
    location: str | None = None
    """Where the job is."""

    @property
    def job(self) -> Mapping[str, Any]:
        return self.body if self.body is not None and "status" in self.body else {}

    @property
    def final(self) -> bool:
        return self.offer is None or self.job.get("status") in FINAL

    @property
    def succeeded(self) -> bool:
        return self.job.get("status") == "succeeded" or (self.offer is None and self.status == 200)

    @property
    def output(self) -> Any:
        return self.job.get("output")

    @property
    def transaction(self) -> str | None:
        """Hash of the settlement, once it is known."""
        payment = self.job.get("payment")
        if isinstance(payment, Mapping) and isinstance(payment.get("transaction"), str):
            return str(payment["transaction"])
        return self.settlement.transaction if self.settlement and self.settlement.success else None
