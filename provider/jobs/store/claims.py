"""The first use of a payment: the claim key, taken before the job is written (J2, J3)."""

from collections.abc import Mapping
from dataclasses import dataclass

from provider.jobs.store import keys
from provider.jobs.store.client import node_of, reaching_redis
from provider.jobs.store.jobs import JobStore

MISMATCHES_ALLOWED = 3
"""Other envelopes for the same nonce after which a claim is replayed only with a proof (J3)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An earlier use of a payment."""

    job: str
    call: str
    """Digest of service and input."""
    envelope: str
    identifier: str | None = None
    mismatches: int = 0
    gone: bool = False
    """Its job was deleted after its retention; the payment stays used."""


class ClaimKeys:
    """Claim keys and payment identifiers, each in a slot of its own."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def find(self, digest: str) -> Claim | None:
        """Read the claim of a payment."""
        with reaching_redis():
            record: Mapping[str, str] = self._store.client.hgetall(keys.claim(digest))  # type: ignore[assignment]
        return _claim(record) if record else None

    def take(self, digest: str, claim: Claim) -> Claim | None:
        """Take a payment for a job; the earlier claim when there is one, None when taken now."""
        args = [claim.job, claim.call, claim.envelope, claim.identifier or ""]
        flat = self._store.scripts("claim", [keys.claim(digest)], args)
        return _claim(dict(zip(flat[::2], flat[1::2], strict=True))) if flat else None

    def count_mismatch(self, digest: str) -> None:
        """Count a call that carried another envelope for the same nonce."""
        self._store.scripts("mismatch", [keys.claim(digest)], [])

    def bind_identifier(self, identifier: str, digest: str, *, seconds: float) -> bool:
        """Bind a payment identifier to a payment; False when it is bound to another one (H8)."""
        key = keys.identifier(identifier)
        with reaching_redis():
            if self._store.client.set(key, digest, nx=True, px=int(seconds * 1000)):
                return True
            return bool(self._store.client.get(key) == digest)

    def identified(self, identifier: str) -> str | None:
        """Give the payment an identifier is bound to."""
        with reaching_redis():
            digest: str | None = self._store.client.get(keys.identifier(identifier))  # type: ignore[assignment]
        return digest

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
        with reaching_redis():
            pipe = node_of(self._store.client, keys.claim(digest)).pipeline(transaction=False)
            pipe.hset(keys.claim(digest), "gone", 1)
            pipe.pexpireat(keys.claim(digest), until_ms)
            pipe.execute()


def _claim(record: Mapping[str, str]) -> Claim:
    return Claim(
        record.get("job", ""),
        record.get("call", ""),
        record.get("envelope", ""),
        record.get("identifier"),
        int(record.get("mismatches", 0)),
        "gone" in record,
    )
