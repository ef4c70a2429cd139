"""`provider settings`: every setting with its type, default and meaning; values that are secret stay so."""

import os
from dataclasses import Field, fields
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from provider.settings import REQUIRED, Settings

SECRET_WORDS = ("TOKEN", "KEY", "URL")
"""URLs may carry a password."""


@click.command("settings")
@click.option("--markdown", is_flag=True, help="Print docs/reference/settings.md.")
def command(markdown: bool) -> None:
    """List the environment variables that a deployment can set."""
    if markdown:
        click.echo(as_markdown(), nl=False)
        return
    table = Table("Variable", "Now", "Default", "Meaning", box=None, pad_edge=False)
    table.columns[0].no_wrap = True  # A name is copied as a whole.
    for column in table.columns:
        column.overflow = "fold"
    for one in fields(Settings):
        table.add_row(variable(one), now(one), default(one), one.metadata["about"])
    Console(highlight=False).print(table)


def as_markdown() -> str:
    """Write the reference page."""
    rows = [
        f"| `{variable(one)}` | {kind(one)} | {f'`{text}`' if (text := default(one)) else '(empty)'} | "
        f"{one.metadata['about']} |"
        for one in fields(Settings)
    ]
    head = ["| variable | type | default | meaning |", "|---|---|---|---|"]
    return "\n".join([HEADING, *head, *rows]) + "\n"


HEADING = """\
# Settings

Read once, at the start of each process, from the environment. Wrong values stop the process, all of them
in one message. This page is written by `provider settings --markdown`.
"""


def variable(one: "Field[Any]") -> str:
    """Name the environment variable of a field."""
    return one.name.upper()


def kind(one: "Field[Any]") -> str:
    """Name the type for people."""
    names = {str: "text", int: "whole number", float: "number", tuple: "list, by comma"}
    return names[type(one.default)]


def default(one: "Field[Any]") -> str:
    """Write the default; required variables have none."""
    if one.name in REQUIRED:
        return "(required)"
    return ",".join(one.default) if isinstance(one.default, tuple) else str(one.default)


def now(one: "Field[Any]") -> str:
    """Return the value in the environment, unless it may be secret."""
    value = os.environ.get(variable(one))
    if value and any(word in variable(one) for word in SECRET_WORDS):
        return "(set)"
    return value or ""
