"""Commands that become another program, in the directory they are started in.

`exec` replaces the process, so that signals of the platform reach the program itself. It runs as a module:
Python then finds the services, and what they import, in that directory for as long as it lives.
"""

import os
import sys
from typing import NoReturn

import click

APP = "provider.workers.celery"

app_option = click.option(
    "--app", default=APP, show_default=True, help="Celery application, where a project has one of its own."
)


def python_module(name: str, *arguments: str) -> list[str]:
    """Build the command line that runs a module."""
    return [sys.executable, "-m", name, *arguments]


def become(command: list[str]) -> NoReturn:
    """Go on as another program."""
    os.execv(command[0], command)  # noqa: S606
