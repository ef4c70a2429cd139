"""A service whose output cannot be guessed from its input by anything but its handler."""

import hashlib
from typing import Any

from provider.services import ChargePolicy, Context, Registry

services = Registry()
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def digest_of(text: str) -> str:
    """Tell what the service answers."""
    return hashlib.sha256(text.encode()).hexdigest()


@services.service(
    name="digest",
    description="Gives the digest of a text.",
    price="0.01",
    charge=ChargePolicy.ON_SUCCESS,
    input_schema=TEXT,
    output_schema={"type": "object"},
    timeout_seconds=20,
)
def digest(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """Digest the text, and tell how far it is, which is shown and logged."""
    context.progress(1, 2, "half way")
    context.logger.info("digest_made")
    return {"digest": digest_of(value["text"])}
