"""Solve Sudoku as an exact cover problem (Knuth's Algorithm X): the tightest constraint first."""

from collections.abc import Iterator

# A choice puts a digit into a place; a constraint is met by exactly one choice:
# every place holds a digit, and every row, column and box holds each digit.
_Choice = tuple[int, int]
_Constraint = tuple[str, int, int]
_Open = dict[_Constraint, set[_Choice]]


def solutions(grid: str) -> Iterator[str]:
    """Yield every solution of 81 cells, row by row; `.` or `0` is an empty one."""
    still_open = _everything_open()
    digits = [0 if cell == "." else int(cell) for cell in grid]
    for choice in ((place, digit) for place, digit in enumerate(digits) if digit):
        if not all(constraint in still_open for constraint in _met_by(choice)):
            return
        _choose(choice, still_open)
    yield from _completed(digits, still_open)


def _everything_open() -> _Open:
    still_open: _Open = {}
    for choice in ((place, digit) for place in range(81) for digit in range(1, 10)):
        for constraint in _met_by(choice):
            still_open.setdefault(constraint, set()).add(choice)
    return still_open


def _completed(digits: list[int], still_open: _Open) -> Iterator[str]:
    if not still_open:
        yield "".join(map(str, digits))
        return
    tightest = min(still_open, key=lambda constraint: len(still_open[constraint]))
    for choice in sorted(still_open[tightest]):
        digits[choice[0]] = choice[1]
        closed = _choose(choice, still_open)
        yield from _completed(digits, still_open)
        _undo(choice, still_open, closed)


def _met_by(choice: _Choice) -> list[_Constraint]:
    place, digit = choice
    row, column = divmod(place, 9)
    box = row // 3 * 3 + column // 3
    return [("place", row, column), ("row", row, digit), ("column", column, digit), ("box", box, digit)]


def _choose(choice: _Choice, still_open: _Open) -> list[set[_Choice]]:
    """Close the constraints that the choice meets, and drop the choices that it rules out."""
    closed = []
    for constraint in _met_by(choice):
        for other in still_open[constraint]:
            for touched in _met_by(other):
                if touched != constraint and touched in still_open:
                    still_open[touched].discard(other)
        closed.append(still_open.pop(constraint))
    return closed


def _undo(choice: _Choice, still_open: _Open, closed: list[set[_Choice]]) -> None:
    for constraint in reversed(_met_by(choice)):
        still_open[constraint] = closed.pop()
        for other in still_open[constraint]:
            for touched in _met_by(other):
                if touched != constraint and touched in still_open:
                    still_open[touched].add(other)
