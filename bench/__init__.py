"""Measurements, side by side in one run: `make bench` (figures and what limits them: bench/README.md)."""
