"""`provider flower`: become Flower, which shows tasks and workers."""

import os
from pathlib import Path

import click
import flower  # noqa: F401 - imported here, so that the command says where it is missing

import provider
from provider.cli._processes import app_option, become, python_module

CONFIG = Path(provider.__file__).parent / "workers" / "flower.py"


@click.command("flower")
@app_option
@click.option("--config", default=str(CONFIG), help="Configuration file of Flower.")
@click.argument("arguments", nargs=-1, metavar="[-- FLOWER OPTIONS]", type=click.UNPROCESSED)
def command(app: str, config: str, arguments: tuple[str, ...]) -> None:
    """Show tasks and workers to people with a password (FLOWER_BASIC_AUTH).

    Listens on PORT on every interface, without it on 127.0.0.1:5555.
    """
    port = os.environ.get("PORT")
    listen = ("--address=0.0.0.0", f"--port={port}") if port else ("--address=127.0.0.1", "--port=5555")
    become(python_module("celery", "--app", app, "flower", f"--conf={config}", *listen, *arguments))
