"""The buyer's journal: every payment that was signed, before it leaves the process, and what became of it.

A file of JSON lines, each written whole and synced to the disk. Whatever kills a buyer, the file has all
that is needed to ask again with the same payment. Processes may share it: a lock file beside it keeps their
writes, and their limits, apart.
"""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from provider.client.entry import JournalEntry, entry_of
from provider.client.payment import Payment

try:
    import fcntl
except ImportError:  # Not on Windows: there a journal is for one process.
    fcntl = None  # type: ignore[assignment]

VERSION = 1
OWNER_ONLY = 0o600
"""A payment is the key to what it bought."""


class Journal:
    """Keeps payments in a file, or without a path in memory only. Threads and processes may share it."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else None
        self._entries: dict[str, JournalEntry] = {}
        self._lock = threading.RLock()
        self._read_to = 0

    def reserve(self, payment: Payment, check: Callable[[list[Payment]], None]) -> None:
        """Write a payment down, unless `check` raises on being shown all that count against limits.

        Raises:
            OSError: if it cannot be written; the payment must not be sent then.
        """
        with self._exclusive():
            check([entry.payment for entry in self._entries.values() if entry.counts])
            self._append({"event": "signed", "id": payment.id, "payment": payment.as_json()})

    def check(self, check: Callable[[list[Payment]], None]) -> None:
        """Show `check` all payments that count against limits."""
        check([entry.payment for entry in self.entries() if entry.counts])

    def record(self, payment_id: str, **facts: Any) -> None:
        """Write down what became of a payment. Raises OSError."""
        with self._exclusive():
            self._append({"event": "known", "id": payment_id, **facts})

    def entries(self) -> list[JournalEntry]:
        """List all payments, the oldest first."""
        with self._exclusive():
            return list(self._entries.values())

    def open_payments(self) -> list[Payment]:
        """List the payments whose purchase has no end yet: those to resume."""
        return [entry.payment for entry in self.entries() if not entry.finished]

    def find(self, payment_id: str) -> JournalEntry | None:
        """Return one payment."""
        with self._exclusive():
            return self._entries.get(payment_id)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the journal, up to date with what other processes wrote."""
        with self._lock:
            if self.path is None:
                yield
                return
            with open(f"{self.path}.lock", "ab", opener=_private) as lock:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                self._catch_up(self.path)
                yield

    def _catch_up(self, path: Path) -> None:
        """Read the lines that were added since the last time."""
        try:
            with path.open("rb") as file:
                file.seek(self._read_to)
                new = file.read()
        except FileNotFoundError:
            return
        whole, _, torn = new.rpartition(b"\n")
        for line in whole.split(b"\n"):
            self._take(line)
        self._read_to += len(new) - len(torn)

    def _take(self, line: bytes) -> None:
        """Take a line in; one that a crash or a full disk cut short is no line."""
        try:
            fact = json.loads(line)
            entry = entry_of(fact, self._entries.get(fact["id"]))
        except (ValueError, LookupError, TypeError):
            return
        self._entries[entry.payment.id] = entry

    def _append(self, fact: dict[str, Any]) -> None:
        line = json.dumps({"v": VERSION, **fact}, ensure_ascii=False).encode() + b"\n"
        if self.path is None:
            self._take(line)
            return
        append(self.path, line, whole_to=self._read_to)
        self._catch_up(self.path)


def append(path: Path | None, line: bytes, *, whole_to: int | None = None) -> None:
    """Add a line to a file and sync it to the disk.

    What is in the file behind `whole_to` is the rest of a line that was cut short; it is ended first.
    """
    if path is None:
        return
    is_new = not path.exists()
    with open(path, "ab", opener=_private) as file:
        torn = whole_to is not None and file.tell() > whole_to
        file.write(b"\n" + line if torn else line)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        _sync_directory(path.absolute().parent)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, OWNER_ONLY)


def _sync_directory(directory: Path) -> None:
    """Make the name of a new file durable, where directories can be synced."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
