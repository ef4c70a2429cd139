"""Fixtures of the threat table: each file here is one threat, and one row of docs/security.md."""

from tests.integration.jobs.conftest import platform
from tests.integration.web.conftest import facilitator, make_shop, registry, shared_facilitator, shop

__all__ = ["facilitator", "make_shop", "platform", "registry", "shared_facilitator", "shop"]
