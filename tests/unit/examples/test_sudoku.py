import time
from itertools import islice

import pytest

from examples.sudoku import solutions

SOLVED = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"


def test_a_puzzle_with_one_solution_has_exactly_one() -> None:
    puzzle = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
    assert list(solutions(puzzle)) == [SOLVED]


def test_a_solved_grid_is_its_own_solution() -> None:
    assert list(solutions(SOLVED)) == [SOLVED]


def test_zeros_and_dots_both_mean_empty() -> None:
    assert list(solutions("0." + SOLVED[2:])) == [SOLVED]


def test_swapping_two_digits_that_nothing_pins_down_gives_two_solutions() -> None:
    without = SOLVED.replace("5", ".").replace("1", ".")
    swapped = SOLVED.translate(str.maketrans("51", "15"))
    assert sorted(solutions(without)) == sorted([SOLVED, swapped])


@pytest.mark.parametrize(
    "grid",
    [
        "11" + "." * 79,
        "1........1" + "." * 71,
        "1........" + ".1......." + "." * 63,
        "2" + SOLVED[1:],
        "12345678." + "........9" + "." * 63,
    ],
)
def test_a_contradiction_has_no_solution(grid: str) -> None:
    assert list(solutions(grid)) == []


@pytest.mark.parametrize(
    "grid",
    [
        ".....5.8....6.1.43..........1.5........1.6...3.......553.....61........4.........",
        "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",
        "." * 81,
    ],
)
def test_grids_that_are_hard_for_plain_search_are_decided_soon(grid: str) -> None:
    """The first one is unsolvable and known to take solvers by cells alone many minutes."""
    started = time.process_time()
    list(islice(solutions(grid), 2))
    assert time.process_time() - started < 5
