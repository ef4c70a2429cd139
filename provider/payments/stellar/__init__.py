"""Scheme `exact` on Stellar: envelope, authorisation, signature, the offline check."""
