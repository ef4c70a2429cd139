"""What an envelope says: the call it makes, and what its payer authorised. Raw fields are XDR."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContractCall:
    """The contract call of an operation."""

    contract: str
    function: bytes
    arguments: tuple[str | int | None, ...]
    """G and C addresses as StrKey, i128 as int, None for any other value."""
    raw: bytes


@dataclass(frozen=True, slots=True)
class Authorization:
    """One authorisation entry with address credentials."""

    credentials: str
    """The arm: `address`, `address_v2` or `address_with_delegates`."""
    address: str
    raw_address: bytes
    nonce: int
    expiration_ledger: int
    raw_signature: bytes
    raw_invocation: bytes
    raw_call: bytes | None
    """The call that was authorised; None when it was something else."""
    is_nested: bool
    """Calls below the authorised one are authorised, too."""

    @property
    def digest(self) -> str:
        """Digest of what was signed and the signature."""
        head = f"{self.credentials} {self.nonce} {self.expiration_ledger}".encode()
        parts = (head, self.raw_address, self.raw_signature, self.raw_invocation)
        return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
