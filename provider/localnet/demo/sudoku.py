"""Solve Sudoku: fill the cell with the fewest candidates first, and take back what leads nowhere."""

DIGITS = "123456789"


def _peers(cell: int) -> set[int]:
    """Name the cells that share a row, a column or a box with this one."""
    row, column = divmod(cell, 9)
    top, left = row // 3 * 3, column // 3 * 3
    box = {9 * r + c for r in range(top, top + 3) for c in range(left, left + 3)}
    return ({9 * row + c for c in range(9)} | {9 * r + column for r in range(9)} | box) - {cell}


PEERS = [_peers(cell) for cell in range(81)]


def solve(grid: str) -> str | None:
    """Give a solution of 81 cells, row by row, where `.` or `0` is an empty one; None if there is none."""
    cells = ["" if digit in ".0" else digit for digit in grid]
    contradictory = any(digit and digit in _around(cells, cell) for cell, digit in enumerate(cells))
    return "".join(cells) if not contradictory and _fill(cells) else None


def _around(cells: list[str], cell: int) -> set[str]:
    return {cells[peer] for peer in PEERS[cell]}


def _fill(cells: list[str]) -> bool:
    """Fill every empty cell, or leave all as they were."""
    candidates = {cell: set(DIGITS) - _around(cells, cell) for cell in range(81) if not cells[cell]}
    if not candidates:
        return True
    cell = min(candidates, key=lambda empty: len(candidates[empty]))
    for digit in sorted(candidates[cell]):
        cells[cell] = digit
        if _fill(cells):
            return True
    cells[cell] = ""
    return False
