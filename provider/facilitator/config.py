"""What a facilitator is started with, and the accounts that follow from it."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from stellar_sdk import Keypair, StrKey

from provider.networks import PASSPHRASES

MAX_CHANNELS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class FacilitatorConfig:
    """Fees are in stroops, times in seconds."""

    rpc_url: str
    secret: str = field(repr=False)
    """Secret seed (S…) of the account that pays the fees; further channels are derived from it."""
    network: str = "stellar:testnet"
    payees: tuple[str, ...] = ()
    assets: tuple[str, ...] = ()
    """Who may be paid, and in what: fees are spent for no others. Empty: all payees, all assets."""
    channels: int = 1
    """Accounts that submit, each with one transaction in flight at a time."""
    max_fee: int = 50_000
    """Most that one transaction may cost: resources and inclusion together."""
    inclusion_fee: int = 1_000
    """Bid for inclusion; the network charges less when there is room."""
    state_dir: Path | None = None
    """Where hashes are kept before they are sent; None keeps them in memory, for tests."""
    ledger_seconds: float = 5.0
    wait_seconds: float = 75.0
    """How long `/settle` waits for an outcome; the caller's time-out must be longer."""
    valid_seconds: float = 45.0
    """How long after the last ledger a transaction may be included (its time bounds)."""
    poll_seconds: float = 0.5
    rpc_timeout_seconds: float = 10.0
    max_attempts: int = 3
    """Transactions built for one payment, each only after the one before is known to be dead."""

    @property
    def passphrase(self) -> str:
        return PASSPHRASES[self.network]

    def keypairs(self) -> list[Keypair]:
        """The submitting accounts; the first is the secret's own."""
        return [channel_keypair(self.secret, index) for index in range(self.channels)]

    def problems(self) -> list[str]:
        """Everything wrong with it, a line each."""
        found = []
        if not StrKey.is_valid_ed25519_secret_seed(self.secret):
            found.append("the secret is not a Stellar secret seed (S…)")
        if self.network not in PASSPHRASES:
            found.append(f"unknown network {self.network!r}; known are {', '.join(PASSPHRASES)}")
        if not 1 <= self.channels <= MAX_CHANNELS:
            found.append(f"channels must be from 1 to {MAX_CHANNELS}")
        if self.max_fee <= self.inclusion_fee:
            found.append("max fee leaves nothing for resources, it must exceed the inclusion fee")
        return found


def channel_keypair(secret: str, index: int) -> Keypair:
    """Derive a channel: the same secret gives the same accounts on every machine."""
    own = Keypair.from_secret(secret)
    if index == 0:
        return own
    seed = hashlib.sha256(b"x402 facilitator channel %d\n" % index + own.raw_secret_key()).digest()
    return Keypair.from_raw_ed25519_seed(seed)
