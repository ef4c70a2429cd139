"""Four services that need no network: set PROVIDER_SERVICES=examples.services to sell them."""

import base64
import io
from itertools import islice
from typing import Any

import segno

from examples import monte_carlo
from examples.sudoku import solutions
from examples.tables import MAX_BYTES, MAX_CELLS, TooManyCells, TooMuchText, extract_tables
from provider.services import ChargePolicy, Context, DeterministicError, Registry, Service

services = Registry()

_TEXT = {"type": "string"}
_ROW = {"type": "array", "items": _TEXT}


@services.service(
    name="extract-tables",
    description="Read every table of an HTML page into rows of text, with spanned cells repeated.",
    price="0.01",
    charge="on-success",
    tags=("data", "html"),
    timeout_seconds=10,
    expected_seconds=0.5,
    concurrency=4,
    max_input_bytes=1_048_576,
    input_schema={
        "type": "object",
        "properties": {"html": {"type": "string", "minLength": 1, "maxLength": 500_000}},
        "required": ["html"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {
            "tables": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "caption": {"type": ["string", "null"]},
                        "header": {"anyOf": [_ROW, {"type": "null"}]},
                        "rows": {"type": "array", "items": _ROW},
                    },
                    "required": ["caption", "header", "rows"],
                },
            }
        },
        "required": ["tables"],
    },
    example_input={
        "html": "<table><tr><th>City<th>People<tr><td>Bern<td>134 000<tr><td>Basel<td>173 000</table>"
    },
    example_output={
        "tables": [
            {
                "caption": None,
                "header": ["City", "People"],
                "rows": [["Bern", "134 000"], ["Basel", "173 000"]],
            }
        ]
    },
)
def tables(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Extract the tables; a page without any is an answer as well."""
    try:
        return {"tables": extract_tables(payload["html"])}
    except TooManyCells as error:
        raise DeterministicError(f"the tables have more than {MAX_CELLS} cells") from error
    except TooMuchText as error:
        raise DeterministicError(f"the tables have more than {MAX_BYTES} bytes") from error


@services.service(
    name="qr-code",
    description="Draw a QR code of a text or link as a PNG image, base64 encoded.",
    price="0.005",
    charge="on-success",
    tags=("image",),
    timeout_seconds=10,
    expected_seconds=0.2,
    concurrency=4,
    input_schema={
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": 2000},
            "correction": {"enum": ["L", "M", "Q", "H"], "default": "M"},
            "scale": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "default": 4,
                "description": "pixels a module",
            },
        },
        "required": ["text"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {
            "png": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
            "width": {"type": "integer", "minimum": 1, "description": "pixels; the height is the same"},
        },
        "required": ["png", "width"],
    },
    example_input={"text": "https://stellar.org", "scale": 1},
    example_output={
        "png": (
            "iVBORw0KGgoAAAANSUhEUgAAACEAAAAhAQAAAAB/n//CAAAAlElEQVR42mP4DwQNDJjkB6EQ9gaG71dEvzcwfInTFQeSIXNB"
            "ZKQrkPx+NxQo/kEUpOb/l+dA9V+6VZc3MHzN+/W+geHnvTiQCZuWzW9g+DXzgXsDw7+6hnKguGC0P1DNbg0g+0/QB5De7+bh"
            "QJVipUA13y+mA8W/xBjYA8lATqDslwBFoPrvt3/GA9UIxrBjcyeYBABNgWmSgNuVuwAAAABJRU5ErkJggg=="
        ),
        "width": 33,
    },
)
def qr_code(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Draw the code. A text that is too long for its correction level fails, and costs nothing."""
    try:
        code = segno.make(
            payload["text"], error=payload.get("correction", "M"), micro=False, boost_error=False
        )
    except segno.DataOverflowError as error:
        raise DeterministicError("the text is too long for this correction level") from error
    image, scale = io.BytesIO(), int(payload.get("scale", 4))
    code.save(image, kind="png", scale=scale)
    return {
        "png": base64.b64encode(image.getvalue()).decode("ascii"),
        "width": code.symbol_size(scale=scale)[0],
    }


@services.service(
    name="sudoku",
    description="Solve a Sudoku and tell whether its solution is the only one; unsolvable ones are free.",
    price="0.02",
    charge="on-success",
    tags=("puzzle",),
    timeout_seconds=20,
    expected_seconds=0.5,
    concurrency=2,
    input_schema={
        "type": "object",
        "properties": {
            "grid": {
                "type": "string",
                "pattern": "^[0-9.]{81}$",
                "maxLength": 81,
                "description": "81 cells row by row; 0 or . is an empty one",
            }
        },
        "required": ["grid"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {
            "solution": {"type": "string", "pattern": "^[1-9]{81}$"},
            "unique": {"type": "boolean"},
        },
        "required": ["solution", "unique"],
    },
    example_input={
        "grid": "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
    },
    example_output={
        "solution": "534678912672195348198342567859761423426853791713924856961537284287419635345286179",
        "unique": True,
    },
)
def sudoku(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Solve the grid. One that has no solution has none the next time either."""
    found = list(islice(solutions(payload["grid"]), 2))
    if not found:
        raise DeterministicError("the grid has no solution")
    return {"solution": found[0], "unique": len(found) == 1}


services.add(
    Service(
        name="monte-carlo",
        description="Price a European or Asian option by simulation, with standard error; survives restarts.",
        price="0.25",
        charge=ChargePolicy.UPFRONT,
        handler=monte_carlo.price_option,
        tags=("finance",),
        timeout_seconds=3600,
        expected_seconds=30,
        max_wait_seconds=3600,
        max_attempts=5,
        input_schema=monte_carlo.INPUT,
        output_schema=monte_carlo.OUTPUT,
        example_input=monte_carlo.EXAMPLE,
        example_output={
            "price": 7.042619168162965,
            "standard_error": 0.07131790320924489,
            "confidence_95": {"low": 6.9028386453173605, "high": 7.182399691008569},
            "paths": 20_000,
        },
    )
)
