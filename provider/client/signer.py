"""What signs for a payer: a key, wherever it is kept, or what a contract's `__check_auth` wants."""

from collections.abc import Callable
from dataclasses import dataclass

from stellar_sdk import Keypair, StrKey, scval, xdr
from stellar_sdk.auth import AuthorizationSigner, authorization_payload_hash

RawSigner = Callable[[bytes], bytes]
"""Signs 32 bytes with ed25519."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs the payments of one payer."""

    address: str
    """The payer: an account (G…) or a contract (C…)."""
    authorize: AuthorizationSigner
    """Makes the signature value of a Soroban authorisation from its preimage."""
    sign: RawSigner | None = None
    """By the account's own key, for PAYER-PROOF; None for contracts, which have none."""

    @classmethod
    def of(cls, payer: "Keypair | Signer") -> "Signer":
        """Take a key pair, or what is a signer already."""
        return payer if isinstance(payer, Signer) else cls.of_account(payer.public_key, payer.sign)

    @classmethod
    def of_account(cls, address: str, sign: RawSigner) -> "Signer":
        """Sign for an account whose key is elsewhere, in a KMS or another process."""
        key = StrKey.decode_ed25519_public_key(address)

        def authorize(preimage: xdr.HashIDPreimage) -> xdr.SCVal:
            signature = sign(authorization_payload_hash(preimage))
            parts = {"public_key": scval.to_bytes(key), "signature": scval.to_bytes(signature)}
            return scval.to_vec(
                [scval.to_map({scval.to_symbol(name): value for name, value in parts.items()})]
            )

        return cls(address, authorize, sign)
