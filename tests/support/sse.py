"""Reading server-sent events as a browser does."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """One event of a stream."""

    id: str
    name: str
    data: Any


def events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """Give the events in a body as they come; comments and hints are left out."""
    text = b""
    for chunk in chunks:
        text += chunk
        while b"\n\n" in text:
            block, _, text = text.partition(b"\n\n")
            fields = dict(
                line.split(": ", 1) for line in block.decode().split("\n") if not line.startswith(":")
            )
            if "data" in fields:
                yield Event(fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"]))
