"""Tables on the terminal."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table


def table(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print one table."""
    shown = Table(*heads, title=title, title_justify="left")
    for row in rows:
        shown.add_row(*row)
    Console(width=110).print(shown)
