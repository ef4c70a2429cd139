"""Files for this user alone."""

import os
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Write a file for this user's eyes, all or nothing: never readable by others, not even for a moment."""
    draft = path.with_suffix(".tmp")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)
