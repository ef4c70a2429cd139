"""What the demo sells does what it says, and needs the standard library alone."""

import base64
import math
import struct
import zlib
from typing import Any

import pytest

from provider.errors import DeterministicError, TransientError
from provider.localnet.demo.services import draw, services, simulate, solve
from provider.localnet.demo.story import OPTION, PICTURE, UNSOLVABLE
from provider.services.testing import LocalContext

GRID = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLVED = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
QUICK = {**OPTION, "pace_seconds": 0}


def test_the_declarations_have_no_fault() -> None:
    """As every process checks them at its start."""
    assert services.problems() == []


@pytest.mark.parametrize(
    ("name", "value"), [("identicon", PICTURE), ("monte-carlo", OPTION), ("sudoku", UNSOLVABLE)]
)
def test_what_the_story_buys_fits_the_schemas(name: str, value: dict[str, Any]) -> None:
    """Else its first act would end with a 400."""
    assert services.get(name).validate_input(value) == []


def test_the_picture_is_a_png_of_five_by_five_cells() -> None:
    """Its rows are mirrored, and another text has another picture."""
    image = base64.b64decode(draw({"text": "hello", "scale": 1}, LocalContext())["png"])
    assert image[:16] == b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR"
    assert struct.unpack(">II", image[16:24]) == (5, 5)
    start = image.index(b"IDAT")
    size = struct.unpack(">I", image[start - 4 : start])[0]
    rows = zlib.decompress(image[start + 4 : start + 4 + size])
    assert all(rows[6 * n + 1 : 6 * n + 6] == rows[6 * n + 1 : 6 * n + 6][::-1] for n in range(5))
    assert image != base64.b64decode(draw({"text": "hullo", "scale": 1}, LocalContext())["png"])


def test_the_simulation_agrees_with_black_and_scholes() -> None:
    """Within four standard errors."""
    done = simulate(QUICK, LocalContext())
    first = (math.log(100 / 105) + (0.03 + 0.02)) / 0.2
    exact = 100 * _normal(first) - 105 * math.exp(-0.03) * _normal(first - 0.2)
    assert abs(done["price"] - exact) < 4 * done["standard_error"]
    assert done["paths"] == 100_000


def _normal(value: float) -> float:
    return (1 + math.erf(value / math.sqrt(2))) / 2


class Interrupted(LocalContext):
    """A context that stops its attempt after the first unit."""

    def progress(self, *told: Any) -> None:
        super().progress(*told)
        self.cancelled.set()


def test_an_interrupted_simulation_gives_the_same_digits() -> None:
    """Each attempt goes on behind the last finished unit."""
    context: LocalContext = Interrupted()
    for _ in range(QUICK["units"]):
        with pytest.raises(TransientError):
            simulate(QUICK, context)
        context = context.next_attempt()
    assert simulate(QUICK, context) == simulate(QUICK, LocalContext())


@pytest.mark.parametrize("empty", [".", "0"])
def test_a_grid_is_solved(empty: str) -> None:
    """Dots and zeros are empty cells."""
    assert solve({"grid": GRID.replace(".", empty)}, LocalContext()) == {"solution": SOLVED}


@pytest.mark.parametrize(
    "grid", [UNSOLVABLE["grid"], "12345678." + "........9" + "." * 63], ids=["a digit twice", "no digit left"]
)
def test_a_grid_without_a_solution_fails(grid: str) -> None:
    """Its buyer pays nothing."""
    with pytest.raises(DeterministicError, match="no solution"):
        solve({"grid": grid}, LocalContext())
