"""Charge policies: when a buyer pays, and all that follows from it (standard §3)."""

import math
from enum import StrEnum


class ChargePolicy(StrEnum):
    """When the buyer pays. What follows is asked here: no other module compares policies.

    Ask for what is meant, in the positive: `not pays_first` is not `withholds_output`.
    """

    ON_SUCCESS = "on-success"
    """After the work succeeded."""
    UPFRONT = "upfront"
    """Before the job is queued."""

    @property
    def pays_first(self) -> bool:
        """The payment settles before the job is queued (S3)."""
        return self is ChargePolicy.UPFRONT

    @property
    def withholds_output(self) -> bool:
        """The payment settles after the work, whose output is withheld until then (S1, J14)."""
        return self is ChargePolicy.ON_SUCCESS

    @property
    def refundable(self) -> bool:
        """A job may end charged and without an output; its cancel gives the payment up (R7)."""
        return self.pays_first

    def deadline_seconds(
        self, *, offered_seconds: float, margin_seconds: float, valid_seconds: float = math.inf
    ) -> float:
        """Return how long from now the work may take to end (S2); infinite where no payment waits for it.

        The payment settles after the work within the time that was offered, and while it is valid.
        """
        if not self.withholds_output:
            return math.inf
        return min(max(1.0, offered_seconds - margin_seconds), valid_seconds - margin_seconds)
