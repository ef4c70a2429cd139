"""How long a payment has to be valid for the work of its service, as buyers round (P1)."""

import math
from typing import Any

from provider.services.charge import ChargePolicy
from provider.services.checks import SETTLE_MARGIN_SECONDS

FROM_WORK = -1
"""Stands for a `max_timeout_seconds` that follows from `timeout_seconds`."""
LEAST_SECONDS = 300
ROUNDING = 6 / 5
"""The reference client counts whole seconds a ledger: just above 5 s it signs for 5/6 of the time."""
UNDERWAY_SECONDS = 13.0
"""Two ledgers of 6.5 s between a signature and its check."""


def usual_validity(service: Any, settle_margin_seconds: float = SETTLE_MARGIN_SECONDS) -> int:
    """Return the least `max_timeout_seconds`, in minutes, that leaves the whole budget at every pace."""
    work = service.timeout_seconds
    after_work = isinstance(service.charge, ChargePolicy) and service.charge.withholds_output
    if not after_work or not isinstance(work, int | float) or not math.isfinite(work):
        return LEAST_SECONDS
    needed = (work + settle_margin_seconds + UNDERWAY_SECONDS) * ROUNDING
    return max(LEAST_SECONDS, math.ceil(needed / 60) * 60)


def validity_advice(service: Any, settle_margin_seconds: float) -> str | None:
    """Say which value to choose where a freshly signed payment may not last for the whole budget."""
    if not service.charge.withholds_output:
        return None
    needed = (service.timeout_seconds + settle_margin_seconds + UNDERWAY_SECONDS) * ROUNDING
    if service.max_timeout_seconds >= needed:
        return None
    return (
        f"max_timeout_seconds: {service.max_timeout_seconds} s leave less than {service.timeout_seconds:g} s"
        " of work where ledgers take longer than 5 s, since buyers round (P1);"
        f" choose {usual_validity(service, settle_margin_seconds)}, or leave it out"
    )
