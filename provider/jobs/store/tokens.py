"""The tokens of remote workers, and the services whose jobs each may claim (§11).

A token is `name.secret`. Its secret has 256 random bits, so nobody guesses it from its SHA-256 however fast
that is computed. A slow hash protects passwords that people choose, and would cost each request here a tenth
of a second. The record is read at each request, so that a revoked token counts for nothing at once.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from provider import strict_json
from provider.errors import InvalidToken, TokenExists
from provider.jobs.store import keys
from provider.jobs.store.client import reaching_redis
from provider.jobs.store.jobs import JobStore

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class RemoteWorker:
    """The worker that a token names, and what it may claim."""

    name: str
    services: tuple[str, ...]
    created_at_ms: int


class Tokens:
    """The tokens in Redis; what is kept of one cannot be turned into it again."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._client: Any = store.client

    def create(self, name: str, services: Iterable[str]) -> str:
        """Make the token of a worker; this is the only time it can be read. Raises TokenExists."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        record = {
            "digest": _digest(secret),
            "services": sorted(set(services)),
            "created_at_ms": self._store.now_ms(),
        }
        with reaching_redis():
            if not self._client.hsetnx(keys.WORKERS, name, strict_json.dumps(record)):
                raise TokenExists
        return f"{name}.{secret}"

    def list(self) -> list[RemoteWorker]:
        """Give all workers by name."""
        with reaching_redis():
            records: dict[str, str] = self._client.hgetall(keys.WORKERS)
        return [_worker(name, json.loads(records[name])) for name in sorted(records)]

    def known(self, workers: Iterable[RemoteWorker]) -> set[RemoteWorker]:
        """Return the workers with unchanged tokens."""
        asked = {worker.name: worker for worker in workers}
        with reaching_redis():
            texts = self._client.hmget(keys.WORKERS, list(asked)) if asked else []
        records = zip(asked, texts, strict=True)
        return {_worker(name, json.loads(text)) for name, text in records if text} & set(asked.values())

    def revoke(self, name: str) -> bool:
        """Take a worker's token back, at once; False when it has none."""
        with reaching_redis():
            return bool(self._client.hdel(keys.WORKERS, name))

    def check(self, token: str) -> RemoteWorker:
        """Return the worker of a token. Raises InvalidToken, whatever is wrong with it."""
        name, _, secret = token.partition(".")
        with reaching_redis():
            text = self._client.hget(keys.WORKERS, name) if NAME.fullmatch(name) else None
        record = json.loads(text) if text else {"digest": ""}
        if not hmac.compare_digest(record["digest"], _digest(secret)):
            raise InvalidToken
        return _worker(name, record)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _worker(name: str, record: dict[str, Any]) -> RemoteWorker:
    return RemoteWorker(name, tuple(record["services"]), record["created_at_ms"])
