"""Two services of one price, so that one payment could pay for either."""

from typing import Any

from provider.services import ChargePolicy, Context, Registry

services = Registry()
OBJECT = {"type": "object"}


def echo(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """Give the input back."""
    return value


for name in ("castor", "pollux"):
    services.service(
        name=name,
        description="Gives its input back.",
        price="0.001",
        charge=ChargePolicy.ON_SUCCESS,
        input_schema=OBJECT,
        output_schema=OBJECT,
        timeout_seconds=20,
        concurrency=4,
        max_queued=1000,
        expected_seconds=0.1,
        max_wait_seconds=600,
    )(echo)
