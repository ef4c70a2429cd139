"""The x402 extension `payment-identifier` (standard H8)."""

import re
from collections.abc import Mapping
from typing import Any

from provider.errors import InvalidIdentifier
from provider.payments.models import PaymentPayload

EXTENSION = "payment-identifier"

_IDENTIFIER = re.compile(r"[A-Za-z0-9_-]{16,128}")


def declare_identifier(*, required: bool = False) -> dict[str, Any]:
    """Return the extension as a 402 declares it, to be merged into `extensions`."""
    return {
        EXTENSION: {
            "info": {"required": required},
            "schema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {
                    "required": {"type": "boolean"},
                    "id": {
                        "type": "string",
                        "minLength": 16,
                        "maxLength": 128,
                        "pattern": "^[a-zA-Z0-9_-]+$",
                    },
                },
                "required": ["required"],
            },
        }
    }


def read_identifier(payload: PaymentPayload, *, required: bool = False) -> str | None:
    """Return the payment identifier of a payload, or None when it has none.

    The rule for its characters is checked here: schemas in the wild leave it out. A declaration that was
    echoed without an id is as good as none.

    Raises:
        InvalidIdentifier: the id breaks the rule, or is missing though required.
    """
    identifier = _info(payload).get("id")
    if identifier is None and required:
        raise InvalidIdentifier(f"This service wants a payment identifier, extensions.{EXTENSION}.info.id.")
    if identifier is None:
        return None
    if not isinstance(identifier, str) or not _IDENTIFIER.fullmatch(identifier):
        raise InvalidIdentifier
    return identifier


def _info(payload: PaymentPayload) -> Mapping[str, Any]:
    extension = payload.extensions.get(EXTENSION)
    if extension is None:
        return {}
    info = extension.get("info") if isinstance(extension, Mapping) else None
    if not isinstance(info, Mapping):
        raise InvalidIdentifier(f"extensions.{EXTENSION} must be an object with an object `info`.")
    return info
