"""`provider web`: become the web process, which is gunicorn."""

import click
import gunicorn  # noqa: F401 - imported here, so that the command says where it is missing

from provider.cli._processes import become, python_module

CONFIG = "python:provider.web.server"


@click.command("web")
@click.option("--config", default=CONFIG, show_default=True, help="Configuration file of gunicorn.")
@click.argument("arguments", nargs=-1, metavar="[-- GUNICORN OPTIONS]", type=click.UNPROCESSED)
def command(config: str, arguments: tuple[str, ...]) -> None:
    """Answer calls over HTTP.

    Listens on PORT on every interface, without it on 127.0.0.1:8000.
    """
    become(python_module("gunicorn", "--config", config, *arguments, "provider.web.wsgi:app"))
