"""A Stellar RPC double with real XDR, real signatures and real nonces (standard.md section 15)."""
