"""What the MCP clients buy: a quick job, a long one and one that fails."""

import time
from typing import Any

from provider.services import Registry, Service
from provider.services.charge import ChargePolicy
from provider.services.context import Context

services = Registry()


def quick(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    return {"said": payload["word"]}


def long(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Work beyond the hold of a call, which the test makes short."""
    time.sleep(2)
    return {"said": payload["word"]}


def failing(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    raise RuntimeError("as it should")


for handler in (quick, long, failing):
    services.add(
        Service(
            name=handler.__name__,
            description=f"Say a word: {handler.__name__}.",
            price="0.05",
            charge=ChargePolicy.ON_SUCCESS,
            handler=handler,
            input_schema={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
            output_schema={"type": "object"},
        )
    )
