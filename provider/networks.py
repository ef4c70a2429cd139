"""The Stellar networks x402 names, and the passphrase a signature is made for."""

import hashlib

PASSPHRASES = {
    "stellar:pubnet": "Public Global Stellar Network ; September 2015",
    "stellar:testnet": "Test SDF Network ; September 2015",
}

NETWORK_IDS = {name: hashlib.sha256(passphrase.encode()).digest() for name, passphrase in PASSPHRASES.items()}
