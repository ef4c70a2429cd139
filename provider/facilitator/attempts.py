"""The durable memory of a facilitator: every transaction is stored before it is sent.

One row an attempt. `open` may have been sent and may still land; `settled` and `failed` are on chain; `dead`
can never land any more; `rejected` was never accepted by the network.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from enum import StrEnum
from pathlib import Path

from provider.errors import ConfigurationError

_COLUMNS = """
    hash TEXT PRIMARY KEY,
    network TEXT NOT NULL, asset TEXT NOT NULL, payer TEXT NOT NULL, nonce INTEGER NOT NULL,
    pay_to TEXT NOT NULL, amount TEXT NOT NULL, expiration_ledger INTEGER NOT NULL,
    envelope TEXT NOT NULL, channel TEXT NOT NULL, sequence INTEGER NOT NULL,
    max_time INTEGER NOT NULL, first_ledger INTEGER NOT NULL,
    state TEXT NOT NULL, ledger INTEGER
"""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS attempts ({_COLUMNS});
CREATE INDEX IF NOT EXISTS attempts_by_payment ON attempts (network, asset, payer, nonce);
CREATE INDEX IF NOT EXISTS open_attempts ON attempts (state) WHERE state = 'open';
"""


class State(StrEnum):
    OPEN = "open"
    SETTLED = "settled"
    FAILED = "failed"
    DEAD = "dead"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A signed transaction that carries a payment. `amount` in atomic units, as text (i128)."""

    hash: str
    network: str
    asset: str
    payer: str
    nonce: int
    pay_to: str
    amount: str
    expiration_ledger: int
    envelope: str
    channel: str
    sequence: int
    max_time: int
    """Last close time (Unix seconds) of a ledger that may include it."""
    first_ledger: int
    """The last ledger that had closed before it existed."""
    state: State = State.OPEN
    ledger: int | None = None

    @property
    def key(self) -> "PaymentKey":
        return (self.network, self.asset, self.payer, self.nonce)


PaymentKey = tuple[str, str, str, int]
"""Network, asset, payer, nonce: what x402 and the chain know a payment by (standard J2)."""

_NAMES = ", ".join(field.name for field in fields(Attempt))
_MARKS = ", ".join("?" * len(fields(Attempt)))


class Attempts:
    """A SQLite file that is on disk when a call returns. One process at a time owns a directory."""

    def __init__(self, directory: Path | None) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(_file(directory), timeout=1, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._own()
        self._db.executescript(_SCHEMA)

    def _own(self) -> None:
        """Lock the directory: two facilitators would use the same sequence numbers of the same accounts."""
        try:
            for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
                self._db.execute(f"PRAGMA {pragma}")
            self._db.execute("BEGIN EXCLUSIVE")
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise ConfigurationError([f"another facilitator uses this state directory ({error})"]) from None

    def add(self, attempt: Attempt) -> None:
        """Store an attempt; it is on disk on return."""
        with self._cursor() as cursor:
            cursor.execute(f"INSERT INTO attempts ({_NAMES}) VALUES ({_MARKS})", astuple(attempt))  # noqa: S608

    def decide(self, tx_hash: str, state: State, ledger: int | None = None) -> None:
        """Record what became of an open attempt; a decided one stays as it is."""
        with self._cursor() as cursor:
            cursor.execute(
                "UPDATE attempts SET state = ?, ledger = ? WHERE hash = ? AND state = 'open'",
                (state, ledger, tx_hash),
            )

    def of(self, key: PaymentKey) -> list[Attempt]:
        """The attempts of a payment, oldest first."""
        where = "network = ? AND asset = ? AND payer = ? AND nonce = ? ORDER BY rowid"
        return self._select(where, key)

    def open(self) -> list[Attempt]:
        """Attempts that an earlier process left undecided, oldest first."""
        return self._select("state = 'open' ORDER BY rowid", ())

    def forget(self, before: int) -> None:
        """Delete decided attempts whose time bounds ended before a Unix time."""
        with self._cursor() as cursor:
            cursor.execute("DELETE FROM attempts WHERE state != 'open' AND max_time < ?", (before,))

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _select(self, where: str, values: tuple[str | int, ...]) -> list[Attempt]:
        with self._cursor() as cursor:
            rows = cursor.execute(f"SELECT {_NAMES} FROM attempts WHERE {where}", values).fetchall()  # noqa: S608
        return [Attempt(**{**dict(row), "state": State(row["state"])}) for row in rows]

    @contextmanager
    def _cursor(self) -> Iterator[sqlite3.Cursor]:
        with self._lock:
            cursor = self._db.cursor()
            try:
                yield cursor
            finally:
                cursor.close()


def _file(directory: Path | None) -> str:
    if directory is None:
        return ":memory:"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return str(directory / "attempts.sqlite3")
