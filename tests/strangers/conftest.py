"""Fixtures of the threat table: each file here is one threat, and one row of docs/security.md."""

from tests.integration.jobs.conftest import platform

__all__ = ["platform"]
