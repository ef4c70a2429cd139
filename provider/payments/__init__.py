"""Payments: x402 v2 messages, the offline check of a signed transfer, and the facilitator."""
