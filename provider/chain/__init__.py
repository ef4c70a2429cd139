"""What a Stellar RPC can show: ledgers, transactions, events, nonces."""
