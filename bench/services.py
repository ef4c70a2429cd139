"""What the bench sells: one service that gives its input back, with a lane that is never full."""

from typing import Any

from provider.services import ChargePolicy, Context, Registry

services = Registry()


@services.service(
    name="echo",
    description="Gives its input back.",
    price="0.001",
    charge=ChargePolicy.ON_SUCCESS,
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    output_schema={"type": "object"},
    timeout_seconds=30,
    max_timeout_seconds=3600,
    expected_seconds=0.001,
    concurrency=64,
    max_queued=1_000_000,
    max_wait_seconds=3600,
)
def echo(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """Give the input back."""
    return {"text": value["text"]}
