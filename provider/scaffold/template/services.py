"""What this shop sells."""

from provider.services import Context, DeterministicError, Registry

services = Registry()


@services.service(
    name="word-count",
    description="Count the words of a text.",
    price="0.01",
    charge="on-success",
    timeout_seconds=10,
    input_schema={
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 50_000}},
        "required": ["text"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {"words": {"type": "integer"}},
        "required": ["words"],
    },
    example_input={"text": "pay at most once"},
    example_output={"words": 4},
)
def word_count(payload: dict, context: Context) -> dict:
    """Count what whitespace separates. A text without words fails, and costs nothing."""
    words = len(payload["text"].split())
    if not words:
        raise DeterministicError("the text has no words")
    return {"words": words}
