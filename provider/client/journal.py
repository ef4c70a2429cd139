"""The buyer's journal: every payment that was signed, before it leaves the process, and what became of it.

A file of JSON lines, each written whole and synced to the disk. Whatever kills a buyer, the file has all
that is needed to ask again with the same payment. Processes may share it: a lock file beside it keeps their
writes, and their limits, apart.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from provider.client.durable import append, facts_in, facts_of, open_private, replace_file, spell
from provider.client.entry import JournalEntry, entry_of, without_content
from provider.client.payment import Payment

try:
    import fcntl
except ImportError:  # Not on Windows: there a journal is for one process.
    fcntl = None  # type: ignore[assignment]

VERSION = 1


class Journal:
    """Keeps payments in a file, or without a path in memory only. Threads and processes may share it."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else None
        self._entries: dict[str, JournalEntry] = {}
        self._lock = threading.RLock()
        self._read_to = self._inode = 0

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
        """Return one payment, with the answer that came for it: finished ones are read from the file."""
        with self._exclusive():
            entry = self._entries.get(payment_id)
            if entry is None or not entry.finished or self.path is None:
                return entry
            found: JournalEntry | None = None
            for fact in facts_in(self.path):
                found = entry_of(fact, found) if fact["id"] == payment_id else found
            return found

    def compact(self, *, keep_seconds: float = 86_400.0, now: float | None = None) -> None:
        """Rewrite the file without the inputs and answers of payments that were finished longer ago.

        They count against limits as before. Raises OSError, with the file as it was.
        """
        with self._exclusive():
            if self.path is None or not self.path.exists():
                return
            before = (time.time() if now is None else now) - keep_seconds
            replace_file(self.path, (self._compacted(fact, before) for fact in facts_in(self.path)))
            self._catch_up(self.path)

    def _compacted(self, fact: dict[str, Any], before: float) -> dict[str, Any]:
        entry = self._entries[fact["id"]]
        is_old = entry.finished and entry.payment.signed_at < before
        return without_content(fact) if is_old else fact

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Hold the journal, up to date with what other processes wrote."""
        with self._lock:
            if self.path is None:
                yield
                return
            with open(f"{self.path}.lock", "ab", opener=open_private) as lock:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                self._catch_up(self.path)
                yield

    def _catch_up(self, path: Path) -> None:
        """Read the lines that were added since the last time."""
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return
        with file:
            if (inode := os.fstat(file.fileno()).st_ino) != self._inode:  # A new file, or a compacted one.
                self._entries, self._read_to, self._inode = {}, 0, inode
            file.seek(self._read_to)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._take(line)
                self._read_to += len(line)

    def _take(self, line: bytes) -> None:
        """Take a line in. The answer of a finished payment stays on the disk."""
        for fact in facts_of(line):
            with contextlib.suppress(LookupError, TypeError, ValueError):
                entry = entry_of(fact, self._entries.get(fact["id"]))
                self._entries[entry.payment.id] = replace(entry, reply=None) if entry.finished else entry

    def _append(self, fact: dict[str, Any]) -> None:
        line = spell({"v": VERSION, **fact})
        if self.path is None:
            self._take(line)
            return
        append(self.path, line, whole_to=self._read_to)
        self._catch_up(self.path)
