import copy
from collections.abc import Callable
from typing import Any

import pytest

from provider.services import Context, Service

FIELDS: dict[str, Any] = {
    "name": "double",
    "description": "Double a number.",
    "price": "0.05",
    "charge": "on-success",
    "input_schema": {"type": "object", "properties": {"number": {"type": "integer"}}},
    "output_schema": {"type": "integer"},
}


def double(payload: dict[str, Any], context: Context) -> Any:
    return 2 * payload["number"]


@pytest.fixture
def fields() -> dict[str, Any]:
    """The fields of a good declaration, without its handler."""
    return copy.deepcopy(FIELDS)


@pytest.fixture
def declare(fields: dict[str, Any]) -> Callable[..., Service]:
    """Declare a good service, except for what the test says."""
    return lambda **changes: Service(**{**fields, "handler": double, **changes})


@pytest.fixture
def taking(declare: Callable[..., Service]) -> Callable[..., Service]:
    """Declare a service whose input has these properties."""

    def service(properties: dict[str, Any], **schema: Any) -> Service:
        return declare(input_schema={"type": "object", "properties": properties, **schema})

    return service
