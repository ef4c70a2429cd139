"""Services that are quick and sell a lot, for tests under load."""

from typing import Any

from provider.services import ChargePolicy, Registry, Service
from tests.chaos.services import work

registry = Registry()
for name, charge in (("after", ChargePolicy.ON_SUCCESS), ("before", ChargePolicy.UPFRONT)):
    limits: dict[str, Any] = {
        "concurrency": 3,
        "timeout_seconds": 10,
        "max_queued": 500,
        "max_wait_seconds": 60,
    }
    registry.add(
        Service(
            name=name,
            description="Works for a moment.",
            price="0.01",  # 100 USDC of the buyer's have to last for thousands of calls.
            charge=charge,
            handler=work,
            input_schema={"type": "object"},
            output_schema={"type": "object"},
            example_input={},
            example_output={},
            expected_seconds=0.1,
            max_timeout_seconds=300,
            **limits,
        )
    )
