"""The Monte-Carlo service for the chaos tests: it notes down each block that it begins to store."""

import os
from pathlib import Path
from typing import Any

from examples import monte_carlo
from provider.services import ChargePolicy, Context, Registry, Service
from tests.chaos import crashing
from tests.chaos.services import NOTES

KILLS = 5
INPUT = {
    **monte_carlo.EXAMPLE,
    "paths": 20_000,
    "units": 20,
    "pace_seconds": 0.1,
}


class Noting:
    """A context that writes down which blocks were computed, before any of them is stored."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def checkpoint(self, unit: str, cursor: Any = None) -> None:
        note("blocks", cursor["blocks"])
        self._context.checkpoint(unit, cursor)


def note(name: str, text: object) -> None:
    with (Path(os.environ[NOTES]) / name).open("a") as notes:
        notes.write(f"{text}\n")


def simulate(value: dict[str, Any], context: Context) -> Any:
    note("starts", f"{context.job_id} 1")
    note("workers", os.getppid())
    return monte_carlo.price_option(value, Noting(context))  # type: ignore[arg-type]


registry = Registry()
registry.add(
    Service(
        name="monte-carlo",
        description="Prices an option, block by block.",
        price="0.25",
        charge=ChargePolicy.UPFRONT,
        handler=simulate,
        input_schema=monte_carlo.INPUT,
        output_schema=monte_carlo.OUTPUT,
        timeout_seconds=120,
        concurrency=1,
        expected_seconds=5,
        max_attempts=KILLS + 1,
    )
)
crashing.install()
