"""A service whose jobs run elsewhere: PROVIDER_SERVICES=examples.services,examples.remote sells it too.

`examples/remote-worker.mjs` does its jobs, in Node; see docs/remote-workers.md.
"""

from provider.services import ChargePolicy, Registry, Service

services = Registry()

services.add(
    Service(
        name="primes",
        description="Count the primes below a number and name the largest, on a worker anywhere.",
        price="0.03",
        charge=ChargePolicy.ON_SUCCESS,
        remote=True,
        tags=("mathematics",),
        timeout_seconds=240,
        expected_seconds=5,
        stall_seconds=30,
        concurrency=4,
        input_schema={
            "type": "object",
            "properties": {"below": {"type": "integer", "minimum": 3, "maximum": 100_000_000}},
            "required": ["below"],
            "additionalProperties": False,
        },
        output_schema={
            "type": "object",
            "properties": {"count": {"type": "integer"}, "largest": {"type": "integer"}},
            "required": ["count", "largest"],
        },
        example_input={"below": 100},
        example_output={"count": 25, "largest": 97},
    )
)
