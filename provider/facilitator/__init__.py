"""An x402 v2 facilitator for scheme `exact` on Stellar, over any Stellar RPC (standard §15)."""
