"""The first use of a payment, taken before the job is written (J2, J3), of an identifier and of a receipt."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from provider.jobs.store import keys
from provider.jobs.store.client import reaching_redis
from provider.jobs.store.jobs import JobStore

MISMATCHES_ALLOWED = 3
"""Calls with the signed authorisation and another envelope or input, after which only a proof counts (J3)."""
SAME_CLIENT_SECONDS = 300
"""So long the client that made a call is known by its address."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An earlier use of a payment."""

    job: str
    call: str
    """Digest of service and input."""
    envelope: str
    authorization: str = ""
    """Digest of the signed authorisation."""
    identifier: str | None = None
    client: str = ""
    """Digest of the address that the call came from."""
    client_until_ms: int = 0
    mismatches: int = 0
    gone: bool = False
    """Its job was deleted after its retention; the payment stays used."""


class ClaimKeys:
    """Claim keys and payment identifiers, each in a slot of its own."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._client_key: str | None = None

    def find(self, digest: str) -> Claim | None:
        """Read the claim of a payment."""
        with reaching_redis():
            record: Mapping[str, str] = self._store.client.hgetall(keys.claim(digest))  # type: ignore[assignment]
        return _claim(record) if record else None

    def take(self, digest: str, claim: Claim, address: str = "") -> Claim | None:
        """Take a payment for a job; the earlier claim when there is one, None when taken now."""
        client = self._client(digest, address) if address and not claim.identifier else ""
        args = [claim.job, claim.call, claim.envelope, claim.authorization, claim.identifier or ""]
        args += [client, str(SAME_CLIENT_SECONDS * 1000)]
        flat = self._store.scripts("claim", [keys.claim(digest)], args)
        return _claim(dict(zip(flat[::2], flat[1::2], strict=True))) if flat else None

    def is_same_client(self, digest: str, claim: Claim, address: str) -> bool:
        """Return whether a claim was made from this address, and not long ago."""
        if not address or not claim.client or self._store.now_ms() > claim.client_until_ms:
            return False
        return hmac.compare_digest(self._client(digest, address), claim.client)

    def _client(self, digest: str, address: str) -> str:
        """Digest an address for one claim, by a key that lives in the store alone: no address is kept."""
        if self._client_key is None:
            with reaching_redis():
                client = self._store.client
                client.set(keys.CLIENT_KEY, secrets.token_hex(32), nx=True)
                self._client_key = str(client.get(keys.CLIENT_KEY))
        text = f"{digest} {address}".encode()
        return hashlib.blake2b(text, key=self._client_key.encode(), digest_size=16).hexdigest()

    def count_mismatch(self, digest: str) -> None:
        """Count a call that carried the same authorisation in another envelope, or with another input."""
        self._store.scripts("mismatch", [keys.claim(digest)], [])

    def bind_identifier(self, payer: str, identifier: str, digest: str, *, seconds: float) -> bool:
        """Bind a payer's identifier to a payment; False when it is bound to another one (H8)."""
        args = [digest, str(int(seconds * 1000))]
        return bool(self._store.scripts("bind", [keys.identifier(payer, identifier)], args) == digest)

    def identified(self, payer: str, identifier: str) -> str | None:
        """Give the payment that an identifier of a payer is bound to."""
        with reaching_redis():
            digest: str | None = self._store.client.get(keys.identifier(payer, identifier))  # type: ignore[assignment]
        return digest

    def bind_receipt(self, transaction: str, job_id: str, *, seconds: float) -> bool:
        """Bind a transaction to the job that it paid; False when it is the receipt of another one (§8)."""
        args = [job_id, str(int(seconds * 1000))]
        return bool(self._store.scripts("bind", [keys.receipt(transaction)], args) == job_id)

    def receipts(self, transactions: Sequence[str]) -> list[str | None]:
        """Name the job that each transaction paid; None for one that is the receipt of no job here."""
        with reaching_redis():
            pipe = self._store.client.pipeline(transaction=False)
            for transaction in transactions:
                pipe.get(keys.receipt(transaction))
            return list(pipe.execute())

    def abandon(self, digest: str, job_id: str, *, seconds: float) -> bool:
        """Let the claim of a job that was never written end in some seconds; False if it is not its."""
        args = [job_id, int(seconds * 1000)]
        return bool(self._store.scripts("abandon", [keys.claim(digest)], args))

    def keep(self, digest: str) -> None:
        """Take back that a claim ends."""
        with reaching_redis():
            self._store.client.persist(keys.claim(digest))

    def outlive(self, digest: str, *, until_ms: int) -> None:
        """Keep a claim whose job is deleted until its payment has surely expired (J15)."""
        self._store.write("HSET", keys.claim(digest), "gone", 1)
        self._store.write("PEXPIREAT", keys.claim(digest), until_ms)


def _claim(record: Mapping[str, str]) -> Claim:
    return Claim(
        record.get("job", ""),
        record.get("call", ""),
        record.get("envelope", ""),
        record.get("authorization", ""),
        record.get("identifier"),
        record.get("client", ""),
        int(record.get("client_until_ms", 0)),
        int(record.get("mismatches", 0)),
        "gone" in record,
    )
