"""What the Stellar network can tell: ledgers, transactions, events, nonces."""
