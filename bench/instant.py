"""What the wake-up bench sells: a service that tells when its handler's first line ran.

The time is CLOCK_MONOTONIC, which all processes of a machine share.
"""

import time
from typing import Any

from provider.services import ChargePolicy, Context, Registry

services = Registry()


@services.service(
    name="instant",
    description="Tells when it started.",
    price="0.001",
    charge=ChargePolicy.ON_SUCCESS,
    input_schema={"type": "object"},
    output_schema={"type": "object"},
    timeout_seconds=30,
    max_timeout_seconds=3600,
)
def instant(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """Tell the time."""
    return {"at": time.monotonic()}
