"""Sell services to software agents and be paid in USDC on Stellar."""

__version__ = "0.1.0"
