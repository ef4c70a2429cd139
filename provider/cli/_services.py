"""Which services a command is about."""

import os

from provider.settings import DEFAULT_SERVICES


def named_services(given: str | None = None) -> str:
    """Give the import paths of an option, of the environment, or of a project that `provider init` wrote."""
    return given or os.environ.get("PROVIDER_SERVICES") or DEFAULT_SERVICES
