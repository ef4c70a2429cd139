"""Uncertain payments are decided from the chain, settled ones are audited by it (standard §10)."""
