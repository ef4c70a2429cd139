"""Secrets of commands: from a file or the environment, since other users of a machine can read arguments."""

import os
from pathlib import Path

import click


def read_secret(file: Path | None, variable: str, option: str) -> str:
    """Read a secret from the file that an option names, else from a variable. Raises `click.UsageError`."""
    secret = file.read_text(encoding="utf-8").strip() if file else os.environ.get(variable, "").strip()
    if not secret:
        raise click.UsageError(f"No secret: give {option}, or set {variable}.")
    return secret
