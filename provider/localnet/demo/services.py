"""What the demo sells, with nothing but the standard library: a picture, a simulation, a puzzle."""

import base64
from typing import Any

from provider.localnet.demo import identicon, option, sudoku
from provider.services import Context, DeterministicError, Registry

services = Registry()


def _object(**properties: Any) -> dict[str, Any]:
    """Declare an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _number(least: float, most: float, kind: str = "number") -> dict[str, Any]:
    return {"type": kind, "minimum": least, "maximum": most}


@services.service(
    name="identicon",
    description="Draw the picture that stands for a text, as a PNG image, base64 encoded.",
    price="0.005",
    charge="on-success",
    timeout_seconds=10,
    expected_seconds=0.2,
    input_schema=_object(
        text={"type": "string", "minLength": 1, "maxLength": 2000}, scale=_number(1, 50, "integer")
    ),
    output_schema=_object(
        png={"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}
    ),
)
def draw(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Draw it; the same text has the same picture."""
    image = identicon.png(identicon.cells(payload["text"]), int(payload["scale"]))
    return {"png": base64.b64encode(image).decode("ascii")}


@services.service(
    name="monte-carlo",
    description="Price a European call option by simulation, with its standard error; survives restarts.",
    price="0.25",
    charge="upfront",
    timeout_seconds=600,
    expected_seconds=10,
    input_schema=_object(
        spot=_number(0.01, 1e9),
        strike=_number(0.01, 1e9),
        rate=_number(-1, 1),
        volatility=_number(0, 2),
        years=_number(0.01, 50),
        paths=_number(2, 1_000_000, "integer"),
        units=_number(1, 200, "integer"),
        seed=_number(0, 2**53, "integer"),
        pace_seconds=_number(0, 10),
    ),
    output_schema=_object(
        price=_number(0, 1e12), standard_error=_number(0, 1e12), paths=_number(2, 1_000_000, "integer")
    ),
)
def simulate(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Simulate in units, each of which is stored when it is done."""
    return option.price(payload, context)


@services.service(
    name="sudoku",
    description="Solve a Sudoku; unsolvable ones are free.",
    price="0.02",
    charge="on-success",
    timeout_seconds=20,
    expected_seconds=0.5,
    input_schema=_object(grid={"type": "string", "pattern": "^[0-9.]{81}$", "maxLength": 81}),
    output_schema=_object(solution={"type": "string", "pattern": "^[1-9]{81}$"}),
)
def solve(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Solve the grid. One that has no solution has none the next time either."""
    solution = sudoku.solve(payload["grid"])
    if solution is None:
        raise DeterministicError("the grid has no solution")
    return {"solution": solution}
