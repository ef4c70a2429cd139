"""The local network for development, demo and tests: chain, facilitator, payer."""
