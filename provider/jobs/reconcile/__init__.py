"""Uncertain payments are decided from the chain."""
