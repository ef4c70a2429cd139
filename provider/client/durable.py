"""Files of JSON lines whose lines are on the disk once they are written."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

OWNER_ONLY = 0o600
"""A payment is the key to what it bought."""


def append(path: Path | None, line: bytes, *, whole_to: int | None = None) -> None:
    """Add a line to a file and sync it to the disk.

    What is in the file behind `whole_to` is the rest of a line that was cut short; it is ended first.
    """
    if path is None:
        return
    is_new = not path.exists()
    with open(path, "ab", opener=open_private) as file:
        torn = whole_to is not None and file.tell() > whole_to
        file.write(b"\n" + line if torn else line)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        _sync_directory(path.absolute().parent)


def replace_file(path: Path, facts: Iterable[dict[str, Any]]) -> None:
    """Put other lines in the place of a file's, all or none."""
    draft = path.with_name(f"{path.name}.draft")
    with open(draft, "wb", opener=open_private) as file:
        file.writelines(map(spell, facts))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _sync_directory(path.absolute().parent)


def facts_in(path: Path) -> Iterator[dict[str, Any]]:
    """Read the objects of a file, without what a crash cut short."""
    with path.open("rb") as file:
        for line in file:
            yield from facts_of(line)


def facts_of(line: bytes) -> Iterator[dict[str, Any]]:
    """Read a line; one that a crash or a full disk cut short has nothing."""
    try:
        fact = json.loads(line)
    except ValueError:
        return
    if isinstance(fact, dict) and isinstance(fact.get("id"), str):
        yield fact


def spell(fact: dict[str, Any]) -> bytes:
    """Spell an object as one line."""
    return json.dumps(fact).encode() + b"\n"


def open_private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, OWNER_ONLY)


def _sync_directory(directory: Path) -> None:
    """Make the name of a new file durable, where directories can be synced."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
