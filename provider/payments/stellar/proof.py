"""PAYER-PROOF: the payer shows that a public authorisation is its own (standard J3).

The header is `t=<unix seconds>,s=<base64 of 64 bytes>`. The signature is SEP-53's (SHA-256 of
"Stellar Signed Message:\\n" and the message, signed with ed25519) by the payer's account key, over this
message, lines joined by "\\n" without one at the end:

    provider payer proof v1
    service: <name of the service>
    nonce: <nonce of the authorisation, decimal, signed 64-bit>
    url: <public URL of the provider, without a slash at the end>
    time: <unix seconds, the same as t>

It counts within 5 minutes of `t`. A contract that pays has no key of its own: the key of a signer counts that
signed the payment itself, as `signature.signing_keys` finds it.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable

from stellar_sdk import Keypair
from stellar_sdk.exceptions import BadSignatureError, Ed25519PublicKeyInvalidError

HEADER = "PAYER-PROOF"
WINDOW_SECONDS = 300

_HEADER = re.compile(r"t=([0-9]{1,12}),s=([A-Za-z0-9+/]{86}==)")


def make_proof(
    payer: Keypair | Callable[[bytes], bytes], *, service: str, nonce: int, public_url: str, now: float
) -> str:
    """Make the header with the payer's key, or with what signs 32 bytes by it; `now` in unix seconds."""
    sign = payer.sign if isinstance(payer, Keypair) else payer
    message = _message(service, nonce, public_url, int(now)).encode()
    signature = sign(hashlib.sha256(b"Stellar Signed Message:\n" + message).digest())
    return f"t={int(now)},s={base64.b64encode(signature).decode('ascii')}"


def verify_proof(
    header: str, *, keys: Iterable[str], service: str, nonce: int, public_url: str, now: float
) -> bool:
    """Return whether the header proves possession of one of the keys (accounts, G…); never raises."""
    match = _HEADER.fullmatch(header)
    if match is None or abs(now - int(match[1])) > WINDOW_SECONDS:
        return False
    message, signature = _message(service, nonce, public_url, int(match[1])), base64.b64decode(match[2])
    return any(_signed(key, message, signature) for key in keys)


def _signed(key: str, message: str, signature: bytes) -> bool:
    try:
        Keypair.from_public_key(key).verify_message(message, signature)
    except (BadSignatureError, Ed25519PublicKeyInvalidError, ValueError):
        return False
    return True


def _message(service: str, nonce: int, public_url: str, time_seconds: int) -> str:
    return (
        "provider payer proof v1\n"
        f"service: {service}\n"
        f"nonce: {nonce}\n"
        f"url: {public_url.rstrip('/')}\n"
        f"time: {time_seconds}"
    )
