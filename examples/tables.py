"""Read the tables out of an HTML page, cells that span rows and columns included."""

import json
import re
from dataclasses import dataclass, field
from html import unescape
from typing import Any

MAX_CELLS = 200_000  # A few bytes of colspan and rowspan could ask for billions.
MAX_BYTES = 1_000_000  # Of the answer as JSON: a spanned cell repeats its text in each.
_MAX_SPAN = 1000  # As browsers do (HTML standard, 4.9.11).

# Every alternative ends at its closer or at the end of the page, so that hostile input is read once.
# (html.parser needs minutes for half a megabyte of "<a ".)
_TOKEN = re.compile(
    r"""
      <!--.*?(?:-->|\Z)
    | <(script|style)\b.*?(?:</\1\b[^>]*(?:>|\Z)|\Z)
    | <(?P<tag>/?[a-z][^\s/>]*)(?P<attributes>(?:[^>"']|"[^"]*(?:"|\Z)|'[^']*(?:'|\Z))*+)(?:>|\Z)
    | <[!?/][^>]*(?:>|\Z)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([^\s=/>"']++)(?:\s*+=\s*+("[^"]*|'[^']*|[^\s>]*))?""")


class TooManyCells(Exception):
    """The tables of the page have too many cells together."""


class TooMuchText(Exception):
    """The tables of the page have too much text together, that of spanned cells counted in each."""


@dataclass
class _Cell:
    heading: bool = False
    columns: int = 1
    rows: int = 1
    text: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return " ".join("".join(self.text).split())


class _Table:
    """A grid that fills up row by row; an open cell or caption takes the text."""

    def __init__(self) -> None:
        self.caption: _Cell | None = None
        self.rows: list[list[str]] = []
        self.open: _Cell | None = None
        self._plain_rows: set[int] = set()
        # Text of cells that reach down into later rows, by (row, column).
        self._reaching: dict[tuple[int, int], str] = {}

    def start_row(self) -> None:
        self.close_row()
        self.rows.append([])

    def start_cell(self, cell: _Cell) -> None:
        self.close_cell()
        if not self.rows:
            self.rows.append([])
        self.open = cell

    def start_caption(self) -> None:
        self.close_cell()
        self.caption = self.open = _Cell()

    def close_cell(self) -> None:
        cell, self.open = self.open, None
        if cell is not None and cell is not self.caption:
            self._place(cell)

    def close_row(self) -> None:
        self.close_cell()
        if self.rows:
            self._place_reaching()

    def _place(self, cell: _Cell) -> None:
        self._place_reaching()
        number, column, text = len(self.rows) - 1, len(self.rows[-1]), str(cell)
        self.rows[-1].extend([text] * cell.columns)
        for row in range(number + 1, number + cell.rows):
            self._reaching.update(((row, column + offset), text) for offset in range(cell.columns))
        if not cell.heading:
            self._plain_rows.add(number)

    def _place_reaching(self) -> None:
        row = self.rows[-1]
        while (text := self._reaching.pop((len(self.rows) - 1, len(row)), None)) is not None:
            row.append(text)

    @property
    def width(self) -> int:
        return max(map(len, self.rows), default=0)

    def bytes(self, spelled: dict[str, int]) -> int:
        """Return at least the bytes that the table has as JSON; `spelled` remembers those of texts."""
        texts = [text for row in self.rows for text in row] + ([str(self.caption)] if self.caption else [])
        for text in texts:
            if text not in spelled:
                spelled[text] = len(json.dumps(text)) + 1
        padding = len('"",') * (self.width * len(self.rows) - sum(map(len, self.rows)))
        braces = 60 + len("[],") * len(self.rows)
        return sum(map(spelled.__getitem__, texts)) + padding + braces

    def as_json(self) -> dict[str, Any]:
        """Return caption, header and rows of equal length; a first row of `th` alone is the header."""
        width = self.width
        rows = [row + [""] * (width - len(row)) for row in self.rows]
        header = rows.pop(0) if rows and 0 not in self._plain_rows else None
        return {"caption": str(self.caption) if self.caption else None, "header": header, "rows": rows}


class _Reader:
    """Feed tables from tags, whose ends HTML lets a page leave out."""

    def __init__(self) -> None:
        self.tables: list[_Table] = []
        self._open: list[_Table] = []
        self._cells = 0

    def read(self, html: str) -> None:
        end = 0
        for token in _TOKEN.finditer(html):
            self._read_text(html[end : token.start()])
            if token["tag"]:
                self._read_tag(token["tag"].lower(), token["attributes"])
            end = token.end()
        self._read_text(html[end:])
        while self._open:
            self._open.pop().close_row()

    def _read_text(self, text: str) -> None:
        if text and self._open and self._open[-1].open:
            self._open[-1].open.text.append(unescape(text))

    def _read_tag(self, tag: str, attributes: str) -> None:
        if tag == "table":
            self.tables.append(_Table())
            self._open.append(self.tables[-1])
        elif tag == "/table" and self._open:
            self._open.pop().close_row()
        elif self._open:
            self._read_tag_in(self._open[-1], tag, attributes)

    def _read_tag_in(self, table: _Table, tag: str, attributes: str) -> None:
        match tag:
            case "tr":
                table.start_row()
            case "/tr":
                table.close_row()
            case "td" | "th":
                table.start_cell(self._cell(tag, attributes))
            case "/td" | "/th" | "/caption":
                table.close_cell()
            case "caption":
                table.start_caption()
            case "br" | "p" | "div" | "li":
                self._read_text(" ")

    def _cell(self, tag: str, attributes: str) -> _Cell:
        given = {name.lower(): value.strip("\"' ") for name, value in _ATTRIBUTE.findall(attributes)}
        cell = _Cell(tag == "th", _span(given.get("colspan", "")), _span(given.get("rowspan", "")))
        self._cells += cell.columns * cell.rows
        if self._cells > MAX_CELLS:
            raise TooManyCells
        return cell


def _span(text: str) -> int:
    return min(max(1, int(text[:6])), _MAX_SPAN) if text.isascii() and text.isdigit() else 1


def extract_tables(html: str) -> list[dict[str, Any]]:
    """Return the tables of the page in the order they start; a table in a cell is one of its own.

    Raises TooManyCells, TooMuchText.
    """
    reader = _Reader()
    reader.read(html)
    if sum(table.width * len(table.rows) for table in reader.tables) > MAX_CELLS:
        raise TooManyCells
    spelled: dict[str, int] = {}
    if sum(table.bytes(spelled) for table in reader.tables) > MAX_BYTES:
        raise TooMuchText
    return [table.as_json() for table in reader.tables]
