"""Names of environment variables that hold secrets, and what is handed on without them."""

from collections.abc import Mapping, MutableMapping

SECRET_VARIABLES = frozenset(
    {
        "BROKER_URL",
        "BUYER_SECRET",
        "FACILITATOR_API_KEY",
        "FACILITATOR_SECRET",
        "FACILITATOR_URL",
        "FLOWER_BASIC_AUTH",
        "OPERATOR_TOKEN",
        "OPERATOR_VIEW_TOKEN",
        "PROVIDER_WORKER_TOKEN",
        "REDIS_URL",
        "STELLAR_RPC_URLS",
    }
)
"""URLs may carry a password or key. A handler that needs a Redis of its own has a variable of its own."""


def forget_secrets(environ: MutableMapping[str, str]) -> None:
    """Remove secrets from the environment of this process; what it starts does not inherit them."""
    for name in SECRET_VARIABLES:
        environ.pop(name, None)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Copy an environment without its secrets."""
    return {name: value for name, value in environ.items() if name not in SECRET_VARIABLES}
